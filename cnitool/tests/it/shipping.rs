//! The image and the DaemonSet of `docs/shipping`: they are what they say, fit each other, and what they run works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{ALL_VERSIONS, Host, skip};

const DOCKERFILE: &str = include_str!("../../../docs/shipping/Dockerfile");
const DAEMONSET: &str = include_str!("../../../docs/shipping/daemonset.yaml");

/// YAML as JSON, by Debian's python3-yaml.
fn parse(yaml: &str) -> Option<Value> {
    const PROGRAM: &str =
        "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut running) = python.spawn() else { return None };
    std::io::Write::write_all(&mut running.stdin.take().unwrap(), yaml.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("No module named") {
        return None;
    }
    assert!(output.status.success(), "{told}");
    let mut documents: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(documents.len(), 1);
    documents.pop()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// What a container has at a path: the file of the node, by the mounts and volumes of the manifest.
fn on_the_node(pod: &Value, container: &Value, path: &str) -> Option<String> {
    let mount =
        container["volumeMounts"].as_array().unwrap().iter().find(|mount| mount["mountPath"] == path)?;
    let volumes = pod["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
    assert_eq!(volume["hostPath"]["type"], "DirectoryOrCreate");
    Some(volume["hostPath"]["path"].as_str().unwrap().to_owned())
}

#[test]
fn the_daemonset_installs_what_the_image_has_where_runtimes_look() {
    let Some(manifest) = parse(DAEMONSET) else { return skip("needs python3-yaml") };
    assert_eq!((&manifest["apiVersion"], &manifest["kind"]), (&"apps/v1".into(), &"DaemonSet".into()));
    let spec = &manifest["spec"];
    assert_eq!(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"], "else it is refused");
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true, "there is no other network yet");
    let container = &pod["initContainers"][0];
    let command = texts(&container["command"]);
    let option = |name: &str| command[command.iter().position(|word| *word == name).unwrap() + 1];
    assert_eq!(on_the_node(pod, container, option("--bin-dir")).as_deref(), Some("/opt/cni/bin"));
    assert_eq!(on_the_node(pod, container, option("--conf-dir")).as_deref(), Some("/etc/cni/net.d"));

    // What is run is in the image, and what is in the image is there.
    let copied: Vec<_> = DOCKERFILE.lines().filter_map(|line| line.strip_prefix("COPY ")).collect();
    let is_copied = |path: &str| {
        copied.iter().any(|line| {
            let (from, to) = line.rsplit_once(' ').unwrap();
            let name = from.rsplit('/').next().unwrap();
            to == path || (to.ends_with('/') && format!("{to}{name}") == path)
        })
    };
    for path in [command[0], command[2], option("--conf")] {
        assert!(is_copied(path), "{path} is not in the image");
    }

    // And it works, on a node in a directory.
    let host = Host::new();
    let node = |path: &str| {
        let path = on_the_node(pod, container, path)
            .map_or_else(|| format!("image{path}"), |path| format!("node{path}"));
        host.path("").join(path).display().to_string()
    };
    let words: Vec<String> = command[1..]
        .iter()
        .map(|word| if word.starts_with('/') { node(word) } else { (*word).to_owned() })
        .collect();
    host.write("image/plugins/hello", &format!("#!/bin/sh\necho '{ALL_VERSIONS}'\n"));
    host.write("node/opt/cni/bin/host-local", "");
    for program in ["image/plugins/hello", "node/opt/cni/bin/host-local"] {
        fs::set_permissions(host.path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The configuration is the one of a new plugin.
    host.cnitool(&["new", "hello"]).good();
    host.write("image/etc/cni/10-hello.conflist", &host.read("hello/10-hello.conflist"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told = host.cnitool(&words).good().stdout;
    assert_eq!(
        told,
        "installed  DIR/node/opt/cni/bin/hello\ninstalled  DIR/node/etc/cni/net.d/10-hello.conflist\n"
    );
}
