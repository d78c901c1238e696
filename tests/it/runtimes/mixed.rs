//! Our plugins and Go's in one chain, which a node has while it changes from one to the other.

use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::runtimes::{Cri, Ctr, Podman};

use super::story::{self, Family};

const BOTH: [Family; 2] = [Family::V4, Family::V6];

const OUR_BRIDGE: [Plugin; 5] =
    [Ours("bridge"), Go("host-local"), Go("portmap"), Go("tuning"), Go("loopback")];

const GOS_BRIDGE: [Plugin; 5] =
    [Go("bridge"), Ours("host-local"), Ours("portmap"), Ours("tuning"), Ours("loopback")];

#[test]
fn podman_our_bridge() {
    story::tell::<Podman>(&OUR_BRIDGE, &BOTH);
}

#[test]
fn ctr_our_bridge() {
    story::tell::<Ctr>(&OUR_BRIDGE, &BOTH);
}

#[test]
fn cri_our_bridge() {
    story::tell::<Cri>(&OUR_BRIDGE, &BOTH);
}

#[test]
fn podman_gos_bridge() {
    story::tell::<Podman>(&GOS_BRIDGE, &BOTH);
}

#[test]
fn ctr_gos_bridge() {
    story::tell::<Ctr>(&GOS_BRIDGE, &BOTH);
}

#[test]
fn cri_gos_bridge() {
    story::tell::<Cri>(&GOS_BRIDGE, &BOTH);
}

/// The one set and the other, the runtime's own included.
const GOS: [Plugin; 5] = [Go("bridge"), Go("host-local"), Go("portmap"), Go("tuning"), Go("loopback")];
const OURS: [Plugin; 5] =
    [Ours("bridge"), Ours("host-local"), Ours("portmap"), Ours("tuning"), Ours("loopback")];

#[test]
fn podman_changes_to_ours_and_back() {
    story::tell_of_a_change::<Podman>(&GOS, &OURS);
}

#[test]
fn ctr_changes_to_ours_and_back() {
    story::tell_of_a_change::<Ctr>(&GOS, &OURS);
}

#[test]
fn cri_changes_to_ours_and_back() {
    story::tell_of_a_change::<Cri>(&GOS, &OURS);
}
