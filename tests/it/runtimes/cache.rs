//! The cache of results that libcni shares with Go's: what a runtime of the field wrote we read, and what we write it
//! reads, so that a node can change from one to the other while containers run.

use std::path::PathBuf;
use std::sync::Arc;

use cni_invoke::{Exec, Exit, FindError, Invocation, Output, RunError};
use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::runtimes::{Container, Ctr, Podman, Runtime};
use cni_tests::vectors::case::decode_base64;
use cni_types::PluginType;
use libcni::{Client, SearchPath};
use serde_json::{Value, json};

use super::story::{self, Family};

const PLUGINS: [Plugin; 4] = [Go("bridge"), Go("host-local"), Go("portmap"), Ours("noop")];

/// What noop shall do, and where it writes every call.
const DEBUG_FILE: &str = "/run/test-noop.json";
const COMMAND_LOG: &str = "/run/test-noop.log";

const RESULTS: &str = "/var/lib/cni/results";

/// Only in a result that our libcni has cached.
const MARK: &str = "cached-by-us.example";

#[test]
fn podman() {
    tell::<Podman>();
}

#[test]
fn ctr() {
    tell::<Ctr>();
}

/// Every plugin exists, and answers with one result.
struct Answer(String);

impl Exec for Answer {
    fn find(&self, plugin: &PluginType, _: &SearchPath) -> Result<PathBuf, FindError> {
        Ok(PathBuf::from("/opt/cni/bin").join(plugin.as_str()))
    }

    fn run(&self, _: &Invocation<'_>) -> Result<Output, RunError> {
        Ok(Output::new(Exit::SUCCESS, self.0.clone()))
    }
}

fn tell<R: Runtime>() {
    let noop = json!({"type": "noop", "debugFile": DEBUG_FILE, "commandLog": COMMAND_LOG});
    let conflist = story::network(&[Family::V4], &[noop]);
    let Some(host) = story::host::<R>(&PLUGINS, &conflist) else { return };
    host.command(["tee", DEBUG_FILE]).input(json!({"ReportResult": "PASSTHROUGH"}).to_string()).run();
    let mut runtime = R::start(host.clone(), "mynet");
    runtime.run(&Container::named("c1")).unwrap();

    let name = host.run(["ls", RESULTS]).stdout.trim().to_owned();
    let file = format!("{RESULTS}/{name}");
    let ours = rewritten(&name, &host.run(["cat", &file]).stdout);
    host.command(["tee", &file]).input(ours).run();

    runtime.remove("c1").unwrap();
    let calls: Vec<Value> = host.run(["cat", COMMAND_LOG]).json();
    let del = calls.iter().find(|call| call["Command"] == "DEL").unwrap();
    let stdin = decode_base64(del["CmdArgs"]["StdinData"].as_str().unwrap()).unwrap();
    let stdin: Value = serde_json::from_slice(&stdin).unwrap();
    assert_eq!(stdin["prevResult"]["dns"]["domain"], MARK);
    // It has found its own file in ours, and removed it.
    assert_eq!(host.run(["ls", RESULTS]).stdout, "");
}

/// What our libcni writes for the attachment that a file of the runtime is for.
fn rewritten(name: &str, theirs: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("results").join(name);
    std::fs::create_dir(dir.path().join("results")).unwrap();
    std::fs::write(&file, theirs).unwrap();

    let client =
        |result: String| Client::builder().cache_dir(dir.path()).exec(Arc::new(Answer(result))).build();
    let found = client(String::new()).attachments(None).unwrap().remove(0);
    let (network, rt) = (found.network().unwrap(), found.runtime_conf().unwrap());
    let cached = client(String::new()).cached_result(&network, &rt).unwrap().unwrap();
    assert_eq!(cached.clone().into_add_result().ips.len(), 1);

    let mut result = serde_json::to_value(&cached).unwrap();
    result["dns"] = json!({"domain": MARK});
    client(result.to_string()).add(&network, &rt).unwrap();
    std::fs::read_to_string(&file).unwrap()
}
