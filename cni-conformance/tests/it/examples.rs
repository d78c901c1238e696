//! This workspace's plugins pass: without a process, and on a real kernel where they need one.

use bridge::Bridge;
use cni_conformance::{Conformance, Outcome, Report};
use cni_skel::testing::{conformance, conformance_of};
use cni_skel::{Dispatcher, Plugin};
use hello::Hello;
use host_local::HostLocal;
use loopback::Loopback;
use noop::Noop;
use plugin_support::testing::TestNetns;
use portmap::Portmap;
use serde_json::{Value, json};
use static_ipam::Static;
use tempfile::TempDir;
use tuning::Tuning;

/// That these checks were made and passed, so that a plugin which passes is not one that was never asked.
#[track_caller]
fn assert_made(report: &Report, checks: &[&str]) {
    report.assert_passes();
    for check in checks {
        let outcome = report.outcome(check);
        assert!(matches!(outcome, Some(Outcome::Passed { .. })), "{check}: {outcome:?}\n{report}");
    }
}

#[test]
fn hello_passes_without_a_netns() {
    let config = json!({"name": "n", "type": "hello", "bridge": "cni0", "ipam": {"type": "host-local"}});
    let report = conformance(&Hello, config).capability("mac", "02:00:00:00:00:05").run();
    assert_made(&report, &["add-prev-result", "concurrent", "ipam-config", "ipam-failed-add", "ipam-gc"]);
}

#[test]
fn noop_passes_with_a_debug_file_that_passes_on() {
    let dir = TempDir::new().unwrap();
    let debug = dir.path().join("debug");
    let said = json!({"ReportResult": "PASSTHROUGH"});
    std::fs::write(&debug, said.to_string()).unwrap();
    let prev_result = json!({"cniVersion": "1.0.0",
        "interfaces": [{"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": [{"address": "10.1.0.5/16", "interface": 0}]});
    let config = json!({"name": "n", "type": "noop", "debugFile": debug, "prevResult": prev_result});
    let kit = conformance_of("noop", |mut call| Noop::for_call(&mut call).respond(call), config)
        .except("version-known", "a test double claims a version that never was, as Go's does")
        .except("check-silent", "it says what it is told to, whatever the command");
    assert_made(
        &kit.run(),
        &["version-echo", "add-prev-result", "check-after-add", "concurrent", "gc-succeeds"],
    );
}

#[test]
fn host_local_passes() {
    let dir = TempDir::new().unwrap();
    let ipam = json!({"type": "host-local", "subnet": "10.1.0.0/24", "dataDir": dir.path()});
    let report = conformance(&HostLocal, json!({"name": "n", "type": "bridge", "ipam": ipam})).run();
    let state = ["attachment-key", "concurrent", "gc-keeps-valid", "gc-removes-stale", "ipam-abbreviated"];
    assert_made(&report, &state);
    let left = std::fs::read_dir(dir.path().join("n")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("10.")).collect();
    assert!(left.is_empty(), "every ADD was followed by a DEL: {left:?}");
}

#[test]
fn static_passes() {
    let addresses = json!([{"address": "10.1.0.5/16", "gateway": "10.1.0.1"}, {"address": "fd00::5/64"}]);
    let config = json!({"name": "n", "type": "bridge", "ipam": {"type": "static", "addresses": addresses}});
    assert_made(&conformance(&Static, config).run(), &["ipam-abbreviated", "status-ready"]);
}

#[test]
fn loopback_passes_in_a_namespace() {
    let Some(netns) = TestNetns::new() else { return };
    let config = json!({"name": "lo", "type": "loopback"});
    let report = conformance(&Loopback, config).netns(netns.path()).ifname("lo").run();
    let kernel = ["add-interface", "check-after-damage", "del-after-damage", "del-netns-gone"];
    assert_made(&report, &kernel);
}

/// Checks a plugin that works on this thread's namespace, with another for containers.
fn on_kernel<P: Plugin + Default>(
    config: &Value,
    prepare: &[&str],
    change: impl FnOnce(Conformance<'static>) -> Conformance<'static>,
) -> Option<Report> {
    let (host, first, second) = (TestNetns::new()?, TestNetns::new()?, TestNetns::new()?);
    for netns in [&first, &second] {
        for line in prepare {
            netns.ip(line);
        }
    }
    let kit = conformance_of(P::NAME, |call| Dispatcher::new(&P::default()).respond(call), config);
    let kit = change(kit.netns(first.path()).second_netns(second.path()));
    Some(host.run(|| kit.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").run()).unwrap())
}

#[test]
fn bridge_passes_on_the_kernel() {
    let config = json!({"name": "n", "type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {"type": "some-ipam"}});
    let Some(report) = on_kernel::<Bridge>(&config, &[], |kit| kit) else { return };
    let kernel =
        ["add-exists", "add-interface", "check-after-damage", "del-removes-interface", "ipam-failed-add"];
    assert_made(&report, &kernel);
}

/// What an earlier plugin has made.
fn prev_result() -> Value {
    json!({"cniVersion": "1.1.0",
        "interfaces": [{"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": [{"address": "10.1.0.5/16", "interface": 0}]})
}

const ETH0: [&str; 3] = ["link add eth0 type bridge", "addr add 10.1.0.5/16 dev eth0", "link set eth0 up"];

#[test]
fn tuning_passes_on_the_kernel() {
    let dir = TempDir::new().unwrap();
    let config = json!({"name": "n", "type": "tuning", "mtu": 1400, "dataDir": dir.path(),
        "sysctl": {"net.ipv4.conf.all.log_martians": "1"}, "prevResult": prev_result()});
    let Some(report) = on_kernel::<Tuning>(&config, &ETH0, |kit| kit) else { return };
    assert_made(&report, &["add-prev-result", "concurrent", "check-after-add", "del-netns-gone"]);
}

#[test]
fn portmap_passes_on_the_kernel() {
    let dir = TempDir::new().unwrap();
    let config = json!({"name": "n", "type": "portmap", "dataDir": dir.path(), "prevResult": prev_result()});
    let Some(report) = on_kernel::<Portmap>(&config, &ETH0, |kit| kit) else { return };
    assert_made(&report, &["add-prev-result", "concurrent", "check-after-add", "del-netns-gone"]);
    // With a port of the host, which is one container's at a time.
    let mappings = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]);
    let with_port = |kit: Conformance<'static>| {
        kit.capability("portMappings", mappings.clone()).except("concurrent", "one container has the port")
    };
    let Some(report) = on_kernel::<Portmap>(&config, &ETH0, with_port) else { return };
    assert_made(
        &report,
        &["add-prev-result", "check-after-add", "del-netns-gone", "del-without-prev-result"],
    );
}
