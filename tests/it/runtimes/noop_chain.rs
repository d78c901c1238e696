//! Our plugins in a chain with Go's: bridge, then noop, which passes the result through, then loopback, then
//! portmap. What Go's plugins and the runtimes read after ours is what ours have passed on.

use std::collections::BTreeSet;

use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::private_host::PrivateHost;
use cni_tests::runtimes::{Cri, Ctr, Podman, Runtime};
use serde_json::{Value, json};

use super::story::{self, Family};

const PLUGINS: [Plugin; 5] = [Go("bridge"), Go("host-local"), Go("portmap"), Ours("noop"), Ours("loopback")];

/// What noop shall do, and where it writes how it was called.
const DEBUG_FILE: &str = "/run/test-noop.json";

/// Where noop writes every call.
const COMMAND_LOG: &str = "/run/test-noop.log";

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
    let Some(host) = tell::<Cri>() else { return };
    // The last call was DEL of the second pod.
    let debug: Value = host.run(["cat", DEBUG_FILE]).json();
    let args = debug["CmdArgs"]["Args"].as_str().unwrap();
    for pair in ["K8S_POD_NAMESPACE=tests", "K8S_POD_NAME=c2", "IgnoreUnknown=1"] {
        assert!(args.split(';').any(|arg| arg == pair), "{pair} is not in {args}");
    }
}

fn tell<R: Runtime>() -> Option<PrivateHost> {
    let families = [Family::V4, Family::V6];
    let noop = json!({"type": "noop", "debugFile": DEBUG_FILE, "commandLog": COMMAND_LOG});
    let conflist = story::network(&families, &[noop, json!({"type": "loopback"})]);
    let host = story::host::<R>(&PLUGINS, &conflist)?;
    host.command(["tee", DEBUG_FILE]).input(json!({"ReportResult": "PASSTHROUGH"}).to_string()).run();

    story::tell_on::<R>(&host, &PLUGINS, &families);

    let calls: Vec<Value> = host.run(["cat", COMMAND_LOG]).json();
    let containers_of = |command: &str| -> BTreeSet<&str> {
        let of_command = calls.iter().filter(|call| call["Command"] == command);
        of_command.map(|call| call["CmdArgs"]["ContainerID"].as_str().unwrap()).collect()
    };
    // Some runtimes repeat DEL.
    assert_eq!(containers_of("ADD").len(), 2);
    assert_eq!(containers_of("DEL"), containers_of("ADD"));
    Some(host)
}
