//! Our plugins alone: what a node has that uses nothing of Go's.

use cni_tests::bins::Plugin::{self, Ours};
use cni_tests::runtimes::{Cri, Ctr, Podman};
use serde_json::json;

use super::story::{self, Family};

/// `loopback` is for the runtimes that use it on every container.
const PLUGINS: [Plugin; 5] =
    [Ours("bridge"), Ours("host-local"), Ours("portmap"), Ours("tuning"), Ours("loopback")];

#[test]
fn podman() {
    tell::<Podman>();
}

#[test]
fn ctr() {
    tell::<Ctr>();
}

#[test]
fn cri() {
    tell::<Cri>();
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

fn tell<R: cni_tests::runtimes::Runtime>() {
    let tuning = json!({"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}, "mtu": 1400});
    story::tell::<R>(&PLUGINS, &[Family::V4, Family::V6], &[tuning]);
}
