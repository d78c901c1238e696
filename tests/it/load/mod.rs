//! Many containers at once come and go, and leave the host as it was.

mod snapshot;
mod two_runtimes;

use cni_tests::bins;
use cni_tests::bins::Plugin::Ours;
use cni_tests::private_host::PrivateHost;
use serde_json::{Value, json};

use snapshot::Snapshot;

/// How many calls are under way at once.
const THREADS: usize = 32;
/// How many cycles the gate runs.
const CYCLES: usize = 500;
/// How many cycles run without the host being looked at in between, in a soak.
const ROUND: usize = 500;

#[test]
fn five_hundred_cycles_at_thirty_two_fold_parallelism_leave_nothing() {
    let Some(host) = host("iptables") else { return };
    let before = Snapshot::after_the_first(&host, THREADS);
    let report = cycles(&host, CYCLES);
    before.assert_unchanged(&host, THREADS);
    host.assert_clean();
    assert!(report["heldAtOnce"].as_u64().unwrap() > 1, "{report:#}");
}

/// By hand: `CNI_SOAK_CYCLES=10000 cargo test -p cni-tests load::soak -- --ignored --nocapture`.
#[test]
#[ignore = "takes as long as one lets it"]
fn soak() {
    let wanted = std::env::var("CNI_SOAK_CYCLES").map_or(10_000, |text| text.parse().unwrap());
    let backend = std::env::var("CNI_SOAK_BACKEND").unwrap_or_else(|_| "iptables".to_owned());
    let Some(host) = host(&backend) else { return };
    let before = Snapshot::after_the_first(&host, THREADS);
    let (mut done, mut seconds, mut addresses) = (0, 0.0, 0);
    while done < wanted {
        let report = cycles(&host, ROUND.min(wanted - done));
        before.assert_unchanged(&host, THREADS);
        host.assert_clean();
        done += usize::try_from(report["cycles"].as_u64().unwrap()).unwrap();
        seconds += report["seconds"].as_f64().unwrap();
        addresses = addresses.max(report["addresses"].as_array().unwrap().len());
        eprintln!("so far: {done} in {seconds:.0} s");
    }
    eprintln!(
        "{done} cycles by {backend} in {seconds:.0} s, nothing lost, up to {addresses} addresses a round"
    );
}

/// A node with what plugins keep state for, and a namespace for each thread; `None` where the test is skipped.
fn host(backend: &str) -> Option<PrivateHost> {
    let plugins = ["bridge", "host-local", "portmap"].map(Ours);
    let host = PrivateHost::start(&["iptables-restore", "nft"], &plugins)?;
    host.install(&bins::build("load"));
    host.add_network(&json!({"cniVersion": "1.1.0", "name": "mynet", "plugins": [
        {
            "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "ipMasqBackend": backend,
            "ipam": {"type": "host-local", "subnet": "10.244.1.0/24"},
        },
        {"type": "portmap", "backend": backend, "capabilities": {"portMappings": true}},
    ]}));
    for thread in 0..THREADS {
        drop(host.netns(&thread.to_string()));
    }
    Some(host)
}

/// Runs cycles, of which none may fail and none may have another's address, and tells of them.
fn cycles(host: &PrivateHost, cycles: usize) -> Value {
    let words = ["/opt/cni/bin/load", &cycles.to_string(), &THREADS.to_string(), "mynet"];
    let load = host.command(words).spawn().wait();
    assert!(load.status.success(), "{load}");
    let report: Value = load.json();
    assert_eq!(report["cycles"], cycles, "{report:#}");
    assert_eq!(report["failures"], 0, "{report:#}");
    assert_eq!(report["twice"], json!([]), "{report:#}");
    assert_eq!(report["fds"][0], report["fds"][1], "{report:#}");
    report
}
