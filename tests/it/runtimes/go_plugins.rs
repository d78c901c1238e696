//! Go's plugins alone: shows that the runtimes work here, so that a failure of the other suites is the
//! plugins'.

use cni_tests::bins::Plugin::{self, Go};
use cni_tests::runtimes::{Cri, Ctr, Podman};

use super::story::{self, Family};

/// `loopback` is for the runtimes that use it on every container.
const PLUGINS: [Plugin; 5] = [Go("bridge"), Go("host-local"), Go("portmap"), Go("tuning"), Go("loopback")];

#[test]
fn podman() {
    story::tell::<Podman>(&PLUGINS, &[Family::V4]);
}

#[test]
fn ctr() {
    story::tell::<Ctr>(&PLUGINS, &[Family::V4]);
}

#[test]
fn cri() {
    story::tell::<Cri>(&PLUGINS, &[Family::V4]);
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

#[test]
fn podman_dual_stack() {
    story::tell::<Podman>(&PLUGINS, &[Family::V4, Family::V6]);
}

#[test]
fn ctr_dual_stack() {
    story::tell::<Ctr>(&PLUGINS, &[Family::V4, Family::V6]);
}

#[test]
fn cri_dual_stack() {
    story::tell::<Cri>(&PLUGINS, &[Family::V4, Family::V6]);
}
