//! The page on debugging, on a node that is made up: its plugins are scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cni_tests::bins;

use super::{console, read};

const PAGE: &str = "docs/guide/debugging.md";

const NETWORK: &str = r#"{
  "cniVersion": "1.1.0",
  "name": "pods",
  "plugins": [
    {"type": "bridge", "ipam": {"type": "host-local", "subnet": "10.244.1.0/24"}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
"#;

/// Speaks every version.
const BRIDGE: &str = r#"#!/bin/sh
version=$(sed -n 's/.*"cniVersion": *"\([^"]*\)".*/\1/p')
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"1.1.0","supportedVersions":["0.4.0","1.0.0","1.1.0"]}' ;;
ADD) echo '{"cniVersion":"'"${version:-1.0.0}"'","interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"'"$CNI_NETNS"'"}],
    "ips":[{"interface":1,"address":"10.244.1.5/24"}]}' ;;
esac
"#;

/// Speaks versions up to 1.0.0, and passes its `prevResult` on.
const PORTMAP: &str = r#"#!/bin/sh
stdin=$(cat)
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}' ;;
*)  case $stdin in
    *'"cniVersion":"1.1.0"'* | *'"cniVersion": "1.1.0"'*)
        echo '{"cniVersion":"1.1.0","code":1,"msg":"incompatible CNI versions",
            "details":"config is \"1.1.0\", plugin supports [\"0.4.0\" \"1.0.0\"]"}'
        exit 1 ;;
    esac
    [ "$CNI_COMMAND" != ADD ] ||
        echo '{"cniVersion":"1.0.0","interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"'"$CNI_NETNS"'"}],
            "ips":[{"interface":1,"address":"10.244.1.5/24"}]}' ;;
esac
"#;

fn plugin(dir: &Path, name: &str, script: &str) {
    let path = dir.join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_the_page_on_debugging_shows_is_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    // Where the page's node has what the test's has elsewhere.
    let places = [
        ("/etc/cni/net.d", "net.d"),
        ("/opt/cni/bin", "bin"),
        ("/var/lib/cni", "cache"),
        ("/run/netns", "netns"),
    ]
    .map(|(there, here)| (there, dir.join(here).to_str().unwrap().to_owned()));
    for folder in ["net.d", "bin", "netns"] {
        fs::create_dir(dir.join(folder)).unwrap();
    }
    fs::write(dir.join("net.d/10-pods.conflist"), NETWORK).unwrap();
    fs::write(dir.join("netns/try"), "").unwrap();
    for (name, script) in [("bridge", BRIDGE), ("host-local", BRIDGE), ("portmap", PORTMAP)] {
        plugin(&dir.join("bin"), name, script);
    }
    let cnitool = bins::build("cnitool");
    let mut shell = console::Shell::new(&dir, "")
        .with("PATH", format!("{}:/usr/bin:/bin", cnitool.parent().unwrap().display()))
        .with("NETCONFPATH", dir.join("net.d").to_str().unwrap())
        .with("CNI_PATH", dir.join("bin").to_str().unwrap())
        .with("CNI_CACHE_DIR", dir.join("cache").to_str().unwrap());

    let mut compared = 0;
    for call in console::calls(&read(PAGE)) {
        let mut command = call.command.clone();
        for (there, here) in &places {
            command = command.replace(there, here);
        }
        let mut printed = shell.run(&command);
        for (there, here) in &places {
            printed = printed.replace(here, there);
        }
        assert!(console::agrees(&call.shown, &printed), "$ {}\n{printed}", call.command);
        compared += usize::from(!call.shown.is_empty());
    }
    assert!(compared >= 7, "{compared} calls with output");
}
