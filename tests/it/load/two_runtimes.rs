//! Two runtimes at once on one network and one cache: ours, and podman or containerd, whose libraries are Go's.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use cni_tests::bins;
use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::private_host::PrivateHost;
use cni_tests::runtimes::{Container, Ctr, Podman, Runtime};
use serde_json::{Value, json};

/// How many containers the other runtime starts and removes meanwhile.
const CONTAINERS: usize = 6;
/// How many cycles ours runs in each batch, and how many at once.
const BATCH: [&str; 2] = ["24", "4"];
/// Thirteen addresses for containers, fewer than the cycles of a batch: each batch comes to all that are free.
const SUBNET: &str = "10.244.1.0/28";
/// The port of the host that goes to the first container, with podman; containerd's client cannot ask for one.
const PORT: u16 = 8080;

#[test]
fn podman_and_ours() {
    tell::<Podman>(&["bridge", "host-local", "portmap"].map(Ours), Some(PORT));
}

#[test]
fn podman_and_ours_by_gos_plugins() {
    tell::<Podman>(&["bridge", "host-local", "portmap"].map(Go), Some(PORT));
}

#[test]
fn containerd_and_ours() {
    tell::<Ctr>(&["bridge", "host-local", "portmap"].map(Ours), None);
}

#[test]
fn containerd_and_ours_by_gos_plugins() {
    tell::<Ctr>(&["bridge", "host-local", "portmap"].map(Go), None);
}

fn tell<R: Runtime + Send>(plugins: &[Plugin], port: Option<u16>) {
    let Some(host) = PrivateHost::start(R::PROGRAMS, plugins) else { return };
    host.install(&bins::build("load"));
    let by_gos = plugins.contains(&Go("bridge"));
    host.add_network(&json!({
        "cniVersion": "1.0.0",
        "name": "mynet",
        // CHECK of Debian's portmap looks for the rules of one family in the tables of both.
        "disableCheck": by_gos,
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true,
                // Go's bridge leaves the rules where the namespace is gone.
                "ipMasq": R::DEL_HAS_NETNS || !by_gos,
                "ipam": {"type": "host-local", "subnet": SUBNET},
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    }));
    for thread in 0..4 {
        drop(host.netns(&thread.to_string()));
    }

    let mut runtime = R::start(host.clone(), "mynet");
    // The addresses of the other runtime's containers, in the order in which they came. All live until ours has ended.
    let theirs = Mutex::new(Vec::new());
    let done = AtomicBool::new(false);
    let batches = std::thread::scope(|scope| {
        let (host, done, theirs) = (&host, &done, &theirs);
        let ours = scope.spawn(move || {
            let mut batches: Vec<(Vec<String>, Value)> = Vec::new();
            // At least one with all of them there.
            let mut last = false;
            while !last {
                last = done.load(Ordering::Relaxed);
                let taken = theirs.lock().unwrap().clone();
                let words = ["/opt/cni/bin/load", BATCH[0], BATCH[1], "mynet"];
                batches.push((taken, host.command(words).spawn().wait().json()));
            }
            batches
        });
        // Whatever comes of it, ours has to end.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for at in 0..CONTAINERS {
                let container = Container::named(&format!("p{at}"));
                let container = match port.filter(|_| at == 0) {
                    Some(port) => container.publish(port),
                    None => container,
                };
                runtime.run(&container).unwrap();
                theirs.lock().unwrap().push(address(&runtime, &format!("p{at}")));
            }
        }));
        done.store(true, Ordering::Relaxed);
        let batches = ours.join().unwrap();
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
        batches
    });

    for (taken, report) in &batches {
        assert_eq!((&report["failures"], &report["twice"]), (&json!(0), &json!([])), "{report:#}");
        assert_eq!(report["cycles"].to_string(), BATCH[0]);
        let given: Vec<&str> =
            report["addresses"].as_array().unwrap().iter().map(|ip| ip.as_str().unwrap()).collect();
        assert!(!taken.iter().any(|address| given.contains(&address.as_str())), "{taken:?}, {report:#}");
    }
    // Each of theirs has its own, which nobody has taken from the store.
    let theirs = theirs.into_inner().unwrap();
    let own: BTreeSet<String> =
        theirs.iter().map(|address| address.split_once('/').unwrap().0.to_owned()).collect();
    assert_eq!(own.len(), CONTAINERS, "{theirs:?}");
    let files = host.run(["ls", "/var/lib/cni/networks/mynet"]).stdout;
    let reserved = files.lines().filter(|name| name.parse::<IpAddr>().is_ok());
    assert_eq!(reserved.map(str::to_owned).collect::<BTreeSet<_>>(), own);
    // Of ours nothing is in the cache any more, of theirs everything.
    let results = host.run(["ls", "/var/lib/cni/results"]).stdout;
    assert_eq!(results.lines().count(), CONTAINERS, "{results}");
    if let Some(port) = port {
        let ran = host.run(["busybox", "nc", "-w", "5", "127.0.0.1", &port.to_string()]);
        assert_eq!(ran.stdout.trim(), "p0", "{ran}");
    }

    for at in 0..CONTAINERS {
        runtime.remove(&format!("p{at}")).unwrap();
    }
    host.assert_clean();
}

/// The address that a container has, with the length of its prefix.
fn address<R: Runtime>(runtime: &R, name: &str) -> String {
    let shown = runtime.exec(name, &["ip", "-4", "addr", "show", "eth0"]).stdout;
    let address = shown.split_whitespace().skip_while(|word| *word != "inet").nth(1);
    address.unwrap_or_else(|| panic!("{name} has no address: {shown}")).to_owned()
}
