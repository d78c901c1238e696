//! Our plugins alone: what a node has that uses nothing of Go's.

use cni_tests::bins::Plugin::{self, Ours};
use cni_tests::runtimes::{Cri, Ctr, Podman};

use super::story::{self, Family};

const BOTH: [Family; 2] = [Family::V4, Family::V6];

/// `loopback` is for the runtimes that use it on every container.
const PLUGINS: [Plugin; 5] =
    [Ours("bridge"), Ours("host-local"), Ours("portmap"), Ours("tuning"), Ours("loopback")];

#[test]
fn podman() {
    story::tell::<Podman>(&PLUGINS, &BOTH);
}

#[test]
fn ctr() {
    story::tell::<Ctr>(&PLUGINS, &BOTH);
}

#[test]
fn cri() {
    story::tell::<Cri>(&PLUGINS, &BOTH);
}

#[test]
fn podman_add_fails() {
    story::tell_of_failure::<Podman>(&PLUGINS);
}

#[test]
fn ctr_add_fails() {
    story::tell_of_failure::<Ctr>(&PLUGINS);
}

#[test]
fn cri_add_fails() {
    story::tell_of_failure::<Cri>(&PLUGINS);
}

/// Masquerade and published ports by nftables, with no rule of iptables.
#[test]
fn cri_by_nftables() {
    let conflist = story::by_nftables(story::network(&BOTH, &[]));
    let plugins = [Ours("bridge"), Ours("host-local"), Ours("portmap"), Ours("loopback")];
    let Some(host) = story::host::<Cri>(&plugins, &conflist) else { return };
    story::tell_on::<Cri>(&host, &plugins, &BOTH);
    let tables = host.run(["nft", "list", "tables"]).stdout;
    for table in ["inet cni_plugins_masquerade", "ip cni_hostport", "ip6 cni_hostport"] {
        assert!(tables.contains(table), "{table:?} is not in {tables}");
    }
    for save in ["iptables-save", "ip6tables-save"] {
        let rules = host.run([save]).stdout;
        assert!(!rules.contains("CNI-"), "{rules}");
    }
}
