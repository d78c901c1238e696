//! How long calls take by how much is reserved: whole processes, this plugin's and Go's if it is installed.
//!
//! `cargo bench -p host-local`; sizes and the number of calls may be given: `-- 0,50000 20`. Medians in milliseconds.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program run by hand, whose output is its purpose"
)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

const GO: &str = "/usr/lib/cni/host-local";
const OURS: &str = env!("CARGO_BIN_EXE_host-local");

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let sizes = args.next().unwrap_or_else(|| "0,1000,10000,50000".to_owned());
    let calls: usize = args.next().map_or(50, |calls| calls.parse().unwrap());
    let floor =
        median((0..calls).map(|_| timed(|| assert!(Command::new("/bin/true").status().unwrap().success()))));
    println!("fork and exec of /bin/true: {floor:.2} ms; medians of {calls} calls, in ms");
    println!(
        "{:>6} {:>5} | {:>7} {:>7} {:>7} {:>11} {:>13} {:>9} | {:>7} {:>7} {:>9}",
        "held",
        "",
        "ADD",
        "DEL",
        "CHECK",
        "DEL unknown",
        "ADD, no last",
        "parallel",
        "STATUS",
        "GC",
        "no index"
    );
    for held in sizes.split(',').map(|size| size.parse().unwrap()) {
        for (name, program) in [("ours", OURS), ("Go", GO)] {
            if Path::new(program).exists() {
                measure(name, program, held, calls);
            }
        }
    }
}

/// One line of the table, on a network of its own.
fn measure(name: &str, program: &str, held: u32, calls: usize) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("n1");
    fs::create_dir(&dir).unwrap();
    let first = u32::from_be_bytes([10, 0, 0, 2]);
    for n in 0..held {
        let address = std::net::Ipv4Addr::from(first + n);
        fs::write(dir.join(address.to_string()), format!("{:064x}\r\neth0", n + 1)).unwrap();
    }
    if let Some(last) = held.checked_sub(1) {
        let address = std::net::Ipv4Addr::from(first + last);
        fs::write(dir.join("last_reserved_ip.0"), address.to_string()).unwrap();
    }
    let version = if program == GO { "1.0.0" } else { "1.1.0" };
    let mut config = json!({
        "cniVersion": version, "name": "n1", "type": "bridge",
        "ipam": {"type": "host-local", "subnet": "10.0.0.0/8", "dataDir": root.path()},
    });
    let id = |n: usize| format!("new-{n}");
    let ours = program == OURS;

    let no_index = timed(|| call(program, "DEL", "unknown", &config));
    let (mut adds, mut checks, mut dels) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..calls {
        adds.push(timed(|| call(program, "ADD", &id(n), &config)));
        let added = fs::read_to_string(dir.join("last_reserved_ip.0")).unwrap();
        config["prevResult"] = json!({"cniVersion": version, "ips": [{"address": format!("{added}/8")}]});
        checks.push(timed(|| call(program, "CHECK", &id(n), &config)));
        dels.push(timed(|| call(program, "DEL", &id(n), &config)));
    }
    let unknown = (0..calls).map(|_| timed(|| call(program, "DEL", "unknown", &config))).collect::<Vec<_>>();
    let lost = (0..calls)
        .map(|n| {
            // In place: no entry of the directory changes, so the index is still good and every address is tried.
            fs::write(dir.join("last_reserved_ip.0"), "").unwrap();
            let elapsed = timed(|| call(program, "ADD", &id(n), &config));
            call(program, "DEL", &id(n), &config);
            elapsed
        })
        .collect::<Vec<_>>();
    let parallel = timed(|| {
        std::thread::scope(|scope| {
            for n in 0..20 {
                let config = &config;
                scope.spawn(move || call(program, "ADD", &id(n), config));
            }
        });
    });
    let (mut status, mut gc) = (Vec::new(), None);
    if ours {
        status.extend((0..calls).map(|_| timed(|| call(program, "STATUS", "", &config))));
        config["cni.dev/valid-attachments"] = json!([]);
        gc = Some(timed(|| call(program, "GC", "", &config)));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "GC has removed everything but lock and turn");
    }
    let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    println!(
        "{held:>6} {name:>5} | {:>7.2} {:>7.2} {:>7.2} {:>11.2} {:>13.2} {parallel:>9.1} | {:>7} {:>7} {no_index:>9.2}",
        median(adds),
        median(dels),
        median(checks),
        median(unknown),
        median(lost),
        optional((!status.is_empty()).then(|| median(status))),
        optional(gc),
    );
}

fn call(program: &str, command: &str, id: &str, config: &Value) {
    let mut child = Command::new(program)
        .env_clear()
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", id)
        .env("CNI_NETNS", "/run/netns/none")
        .env("CNI_IFNAME", "eth0")
        .env("CNI_PATH", "/usr/lib/cni")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command} {id}: {}", String::from_utf8_lossy(&output.stdout));
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1000.0
}

fn median(times: impl IntoIterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.into_iter().collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
