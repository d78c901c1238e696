//! Containers that died with their node's memory of them: their namespaces are gone, and nobody has called DEL.

use super::node::{GOS, Network, Node, OURS};

/// What Go's plugins have made, which know no GC, ours find and remove, and leave alone what is alive.
#[test]
fn gc_by_ours_removes_what_gos_made() {
    for network in [Network::Gateway, Network::Pod] {
        let Some(node) = Node::start(network, &GOS, &OURS) else { return };
        let dead = ["one", "published"].map(|name| {
            let container = node.container(name);
            node.add(&container);
            container
        });
        for container in dead {
            container.die(&node);
        }
        node.host.run(["rm", "-r", "/var/lib/cni/results"]);

        node.host.install_all(&OURS);
        let mut conflist = network.conflist();
        conflist["cniVersion"] = "1.1.0".into();
        node.host.add_network(&conflist);
        let alive = node.container("alive");
        node.add(&alive);
        node.cnitool("gc", &alive).run();
        node.cnitool("check", &alive).run();
        let footprint = node.host.footprint();
        assert_eq!(footprint.reservations.len(), 1, "{footprint:#?}");
        node.cnitool("del", &alive).run();
        node.host.assert_clean();
    }
}

/// With the cache, DEL is run for each that is gone, of any version and without its namespace.
#[test]
fn gc_runs_del_for_what_is_cached() {
    for first in [&GOS, &OURS] {
        let Some(node) = Node::start(Network::Gateway, first, &OURS) else { return };
        let [one, published] = ["one", "published"].map(|name| node.container(name));
        node.add(&one);
        node.add(&published);
        published.die(&node);
        node.host.install_all(&OURS);
        node.cnitool("gc", &one).run();
        node.cnitool("check", &one).run();
        node.assert_not_published();
        one.die(&node);
        node.cnitool_at("gc", &[]).run();
        node.host.assert_clean();
    }
}
