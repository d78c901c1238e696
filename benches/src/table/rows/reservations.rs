//! host-local by how much is reserved.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::table::Bench;
use crate::table::builds::go_plugin;
use crate::table::measure::Program;
use crate::table::report::{Report, mark, time};
use crate::table::stats::median;

const HELD: [u32; 4] = [0, 1000, 10_000, 50_000];
/// The first address that is reserved.
const FIRST: u32 = u32::from_be_bytes([10, 0, 0, 2]);

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    report.section(
        "host-local by the number of reservations held, whole processes",
        &[
            "held",
            "ADD",
            "DEL",
            "GC of all",
            "GC of one",
            "read and removed in a loop, one",
            "ADD of Go's",
            "DEL of Go's",
        ],
    );
    let ours = bench.programs.of_static("host-local");
    let go = go_plugin("host-local");
    let (mut adds, mut dels, mut gcs, mut loops) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for held in HELD {
        let (add, del) = Network::holding(held, &ours, "1.1.0").attach(bench.rounds(200));
        // In turn, the loop first: who makes so many files on a file system first waits for it longest.
        let rounds = (0..3).map(|_| (remove_in_a_loop(held), Network::holding(held, &ours, "1.1.0").gc()));
        let (looped, collected): (Vec<f64>, Vec<f64>) = rounds.unzip();
        let gc = median(collected);
        adds.push(add);
        dels.push(del);
        gcs.push(gc / f64::from(held.max(1)));
        loops.push(median(looped) / f64::from(held.max(1)));
        let of_one =
            |times: &[f64]| times.last().filter(|_| held > 0).map_or_else(String::new, |&one| time(one));
        // Go's takes long enough to tell with a few.
        let theirs = go.as_ref().ok().map(|go| Network::holding(held, go, "1.0.0").attach(bench.rounds(5)));
        let told =
            |pick: fn((f64, f64)) -> f64| theirs.map_or_else(|| "–".to_owned(), |times| time(pick(times)));
        report.row(&[
            held.to_string(),
            time(add),
            time(del),
            time(gc),
            of_one(&gcs),
            of_one(&loops),
            told(|(add, _)| add),
            told(|(_, del)| del),
        ]);
    }
    report.section("Growth of that", &["", "grows", "goal", ""]);
    for (name, times) in [("ADD", &adds), ("DEL", &dels)] {
        let growth = times[3] / times[0];
        let name = format!("{name}: with 50,000 held, in the time with none");
        report.row(&[&name, &format!("{growth:.2} ×"), "flat: ≤ 1.5 ×", mark(Some(growth <= 1.5))]);
    }
    let growth = gcs[3] / gcs[2];
    report.row(&[
        "GC: one of 50,000 reservations, in the time of one of 10,000",
        &format!("{growth:.2} ×"),
        "linear: ≤ 1.5 ×",
        mark(Some(growth <= 1.5)),
    ]);
    let growth = loops[3] / loops[2];
    report.row(&["the loop: the same, which is the file system's share", &format!("{growth:.2} ×"), "", ""]);
}

/// What GC cannot do without: the files of as many reservations read, removed, and their directory flushed. In
/// microseconds.
fn remove_in_a_loop(held: u32) -> f64 {
    let root = tempfile::tempdir().unwrap();
    let dir = fill(root.path(), held);
    let start = Instant::now();
    let paths: Vec<PathBuf> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &paths {
        fs::read(path).unwrap();
    }
    for path in &paths {
        fs::remove_file(path).unwrap();
    }
    File::open(&dir).unwrap().sync_all().unwrap();
    start.elapsed().as_secs_f64() * 1e6
}

/// Makes a network's directory with this many reservations.
fn fill(root: &Path, held: u32) -> PathBuf {
    let dir = root.join("bench");
    fs::create_dir(&dir).unwrap();
    for n in 0..held {
        let address = Ipv4Addr::from(FIRST + n);
        fs::write(dir.join(address.to_string()), format!("{:064x}\r\neth0", n + 1)).unwrap();
    }
    dir
}

/// A network with its reservations, and the plugin that keeps them.
struct Network {
    root: tempfile::TempDir,
    plugin: PathBuf,
    version: &'static str,
}

impl Network {
    fn holding(held: u32, plugin: &Path, version: &'static str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = fill(root.path(), held);
        if let Some(last) = held.checked_sub(1) {
            fs::write(dir.join("last_reserved_ip.0"), Ipv4Addr::from(FIRST + last).to_string()).unwrap();
        }
        Self { root, plugin: plugin.to_owned(), version }
    }

    fn call(
        &self,
        command: &str,
        id: &str,
        more: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Program {
        let mut config = json!({
            "cniVersion": self.version, "name": "bench", "type": "bridge",
            "ipam": {"type": "host-local", "subnet": "10.0.0.0/8", "dataDir": self.root.path()},
        });
        for (key, value) in more {
            config[key] = value;
        }
        Program::new(&self.plugin).stdin(config.to_string()).env([
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", id),
            ("CNI_NETNS", "/run/netns/none"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_PATH", "/usr/lib/cni"),
        ])
    }

    /// Medians of ADD and DEL.
    fn attach(&self, rounds: usize) -> (f64, f64) {
        // The first call builds the index.
        self.call("DEL", "unknown", []).run();
        let (mut adds, mut dels) = (Vec::new(), Vec::new());
        for n in 0..rounds {
            let id = format!("new-{n}");
            adds.push(self.call("ADD", &id, []).run().0.wall);
            dels.push(self.call("DEL", &id, []).run().0.wall);
        }
        (median(adds), median(dels))
    }

    /// Everything is stale.
    fn gc(&self) -> f64 {
        self.call("GC", "", [("cni.dev/valid-attachments", json!([]))]).run().0.wall
    }
}
