//! What a kubelet asks the CRI service about networks, beyond starting and removing pods.

use std::collections::BTreeSet;

use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::netns::Neighbour;
use cni_tests::private_host::PrivateHost;
use cni_tests::runtimes::{Condition, Container, Cri, Runtime as _};

use super::story::{self, Family};

const PLUGINS: [Plugin; 4] = [Go("bridge"), Go("host-local"), Go("portmap"), Go("loopback")];

const OURS: [Plugin; 4] = [Ours("bridge"), Ours("host-local"), Ours("portmap"), Ours("loopback")];

#[test]
fn pod_status_names_the_addresses_of_the_result() {
    for plugins in [PLUGINS, OURS] {
        pod_status_names_the_addresses(&plugins);
    }
}

fn pod_status_names_the_addresses(plugins: &[Plugin]) {
    let families = [Family::V4, Family::V6];
    let Some(host) = story::host::<Cri>(plugins, &story::network(&families, &[])) else { return };
    let mut cri = Cri::start(host, "mynet");
    assert!(network_ready(&cri).holds);

    for name in ["c1", "c2"] {
        cri.run(&Container::named(name)).unwrap();
        assert_eq!(cri.pod_ips(name), families.map(|family| story::address(&cri, name, family)));
    }
}

#[test]
fn network_is_not_ready_without_a_configuration() {
    let Some(host) = PrivateHost::start(Cri::PROGRAMS, &PLUGINS) else { return };
    let mut cri = Cri::start(host, "mynet");
    let condition = network_ready(&cri);
    assert!(!condition.holds);
    assert_eq!(condition.reason, "NetworkPluginNotReady");
    cri.run(&Container::named("c1")).unwrap_err();
}

/// A node that starts: pods all at once. One wants a port of the host that another has.
#[test]
fn pods_start_and_go_at_once_and_one_fails() {
    let families = [Family::V4, Family::V6];
    let Some(host) = story::host::<Cri>(&OURS, &story::network(&families, &[])) else { return };
    let neighbour = host.neighbour();
    let mut cri = Cri::start(host.clone(), "mynet");
    let ports: [u16; 4] = [8081, 8082, 8083, 8084];
    let names = ports.map(|port| format!("pod{port}"));
    let pods: Vec<_> =
        names.iter().zip(ports).map(|(name, port)| Container::named(name).publish(port)).collect();
    for started in cri.run_all(&pods) {
        started.unwrap();
    }
    let before = host.footprint();

    let error = cri.run(&Container::named("late").publish(ports[1])).unwrap_err();
    let holder = cri.pod_id(&names[1]);
    assert!(error.contains("8082") && error.contains(holder), "{error}");
    assert_eq!(host.footprint(), before);

    let ips: BTreeSet<_> = names.iter().flat_map(|name| cri.pod_ips(name)).collect();
    assert_eq!(ips.len(), names.len() * families.len());
    for (name, port) in names.iter().zip(ports) {
        for published in Neighbour::HOST {
            story::assert_answers(name, || {
                neighbour.netns.command(&story::dial(published, &port.to_string()))
            });
        }
    }
    for name in &names {
        cri.remove(name).unwrap();
    }
    host.assert_clean();
}

fn network_ready(cri: &Cri) -> Condition {
    let conditions = cri.conditions();
    let found = conditions.iter().find(|condition| condition.kind == "NetworkReady");
    found.unwrap_or_else(|| panic!("no condition of the network in {conditions:?}")).clone()
}
