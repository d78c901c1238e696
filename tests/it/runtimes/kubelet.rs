//! What a kubelet asks the CRI service about networks, beyond starting and removing pods.

use cni_tests::bins::Plugin::{self, Go};
use cni_tests::private_host::PrivateHost;
use cni_tests::runtimes::{Condition, Container, Cri, Runtime as _};

use super::story::{self, Family};

const PLUGINS: [Plugin; 4] = [Go("bridge"), Go("host-local"), Go("portmap"), Go("loopback")];

#[test]
fn pod_status_names_the_addresses_of_the_result() {
    let families = [Family::V4, Family::V6];
    let Some(host) = story::host::<Cri>(&PLUGINS, &story::network(&families, &[])) else { return };
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

fn network_ready(cri: &Cri) -> Condition {
    let conditions = cri.conditions();
    let found = conditions.iter().find(|condition| condition.kind == "NetworkReady");
    found.unwrap_or_else(|| panic!("no condition of the network in {conditions:?}")).clone()
}
