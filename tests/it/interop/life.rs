//! The life of containers on a node: ADD, CHECK, DEL, by one set of plugins, or by two of which each finds what the
//! other has made.

use std::collections::BTreeSet;

use cni_tests::bins::Plugin;
use cni_tests::netns::Neighbour;
use cni_tests::private_host::Footprint;

use super::node::{GOS, Network, Node, OURS};

#[test]
fn gateway_of_gos() {
    live(Network::Gateway, &GOS, &GOS);
}

#[test]
fn gateway_of_ours() {
    live(Network::Gateway, &OURS, &OURS);
}

#[test]
fn gateway_of_gos_then_ours() {
    live(Network::Gateway, &GOS, &OURS);
}

#[test]
fn gateway_of_ours_then_gos() {
    live(Network::Gateway, &OURS, &GOS);
}

#[test]
fn pod_network_of_gos() {
    live(Network::Pod, &GOS, &GOS);
}

#[test]
fn pod_network_of_ours() {
    live(Network::Pod, &OURS, &OURS);
}

#[test]
fn pod_network_of_gos_then_ours() {
    live(Network::Pod, &GOS, &OURS);
}

#[test]
fn pod_network_of_ours_then_gos() {
    live(Network::Pod, &OURS, &GOS);
}

#[test]
fn chosen_addresses_of_gos() {
    live(Network::Chosen, &GOS, &GOS);
}

#[test]
fn chosen_addresses_of_ours() {
    live(Network::Chosen, &OURS, &OURS);
}

#[test]
fn chosen_addresses_of_gos_then_ours() {
    live(Network::Chosen, &GOS, &OURS);
}

#[test]
fn chosen_addresses_of_ours_then_gos() {
    live(Network::Chosen, &OURS, &GOS);
}

/// Two containers come by `first`, and a third by `then`, which checks and removes all of them.
fn live(network: Network, first: &[Plugin], then: &[Plugin]) {
    let Some(node) = Node::start(network, first, then) else { return };
    let [one, published, three] = ["one", "published", "three"].map(|name| node.container(name));
    let result = node.add(&one);
    node.join();
    node.add(&published);
    node.assert_published(&published, &one);

    node.host.install_all(then);
    node.add(&three);
    three.assert_reaches(&result);
    for container in [&one, &published, &three] {
        let checked = node.cnitool("check", container).attempt();
        if then == GOS && container.name == "published" {
            // Debian's release looks for the rules of one family in the tables of both.
            assert!(checked.stderr.contains("could not check ipv6 dnat"), "{checked}");
        } else {
            assert!(checked.success(), "{}: {checked}", container.name);
        }
    }
    node.assert_published(&published, &three);
    if network.has_gateway() {
        three.ping(Neighbour::ITSELF[0]);
    }

    node.cnitool("del", &published).run();
    node.assert_not_published();
    let checked = node.cnitool("check", &published).attempt();
    assert!(!checked.success(), "{checked}");
    three.assert_reaches(&result);

    // The next one may have the port.
    node.add(&published);
    if matches!(network, Network::Chosen) && then == GOS {
        // It has its address again, and Go's bridge announces it before anybody can hear it.
        node.host.run(["ip", "neigh", "flush", "dev", "cni0"]);
    }
    node.assert_published(&published, &one);
    for container in [&one, &published, &three] {
        node.cnitool("del", container).run();
        node.cnitool("del", container).run();
    }
    let footprint = node.host.footprint();
    if first == OURS && then == GOS {
        // Ours notes which ports it has forwarded, and Go's does not know of the note.
        assert!(footprint.records.iter().all(|path| path.starts_with("/run/cni/portmap/")), "{footprint:#?}");
        assert_eq!(Footprint { records: BTreeSet::new(), ..footprint }, Footprint::default());
    } else {
        assert_eq!(footprint, Footprint::default());
    }
}
