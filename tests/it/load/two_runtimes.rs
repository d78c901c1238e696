//! Two runtimes at once on one network and one cache: ours and podman, whose library is Go's.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use cni_tests::bins;
use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::private_host::PrivateHost;
use cni_tests::runtimes::{Container, Podman, Runtime as _};
use serde_json::{Value, json};

/// How many containers podman starts and removes meanwhile.
const CONTAINERS: usize = 6;
/// How many cycles ours runs in each batch, and how many at once.
const BATCH: [&str; 2] = ["24", "4"];

#[test]
fn podman_and_ours_on_one_network_and_one_cache() {
    tell(&["bridge", "host-local", "portmap"].map(Ours));
}

#[test]
fn podman_and_ours_by_gos_plugins_on_one_network_and_one_cache() {
    tell(&["bridge", "host-local"].map(Go));
}

fn tell(plugins: &[Plugin]) {
    let Some(host) = PrivateHost::start(Podman::PROGRAMS, plugins) else { return };
    host.install(&bins::build("load"));
    let mut list = vec![json!({
        "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
        "ipam": {"type": "host-local", "subnet": "10.244.1.0/24"},
    })];
    if plugins.contains(&Ours("portmap")) {
        list.push(json!({"type": "portmap", "capabilities": {"portMappings": true}}));
    }
    host.add_network(&json!({"cniVersion": "1.0.0", "name": "mynet", "plugins": list}));
    for thread in 0..4 {
        drop(host.netns(&thread.to_string()));
    }

    let mut podman = Podman::start(host.clone(), "mynet");
    let done = AtomicBool::new(false);
    let (addresses, batches) = std::thread::scope(|scope| {
        let (host, done) = (&host, &done);
        let ours = scope.spawn(move || {
            let mut reports: Vec<Value> = Vec::new();
            while reports.is_empty() || !done.load(Ordering::Relaxed) {
                let words = ["/opt/cni/bin/load", BATCH[0], BATCH[1], "mynet"];
                reports.push(host.command(words).spawn().wait().json());
            }
            reports
        });
        // Whatever comes of it, ours has to end.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut addresses = Vec::new();
            for at in 0..CONTAINERS {
                podman.run(&Container::named(&format!("p{at}"))).unwrap();
                let shown = podman.exec(&format!("p{at}"), &["ip", "-4", "addr", "show", "eth0"]).stdout;
                addresses.push(
                    shown.split_whitespace().skip_while(|word| *word != "inet").nth(1).map(str::to_owned),
                );
            }
            addresses
        }));
        done.store(true, Ordering::Relaxed);
        let batches = ours.join().unwrap();
        (outcome.unwrap_or_else(|panic| resume_unwind(panic)), batches)
    });

    for report in &batches {
        assert_eq!((&report["failures"], &report["twice"]), (&json!(0), &json!([])), "{report:#}");
        assert_eq!(report["cycles"].to_string(), BATCH[0]);
    }
    // All of podman's are alive: each has an address, and each its own.
    let mut own: Vec<_> = addresses.iter().map(|address| address.clone().unwrap()).collect();
    own.sort();
    own.dedup();
    assert_eq!(own.len(), CONTAINERS, "{addresses:?}");
    // Of ours nothing is in the cache any more, of podman's everything.
    let results = host.run(["ls", "/var/lib/cni/results"]).stdout;
    assert_eq!(results.lines().count(), CONTAINERS, "{results}");

    for at in 0..CONTAINERS {
        podman.remove(&format!("p{at}")).unwrap();
    }
    host.assert_clean();
}
