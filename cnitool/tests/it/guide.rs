//! The guide to `cnitool`: its commands are run as they stand there, and must answer as it says.

use std::process::Command;

use crate::support::Host;
use crate::trace::steady_text;

const GUIDE: &str = include_str!("../../../docs/guide/cnitool.md");

const BRIDGE: &str = r#"{"cniVersion":"1.0.0","interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"/run/netns/blue"}],
    "ips":[{"interface":1,"address":"10.244.1.5/24","gateway":"10.244.1.1"}]}"#;
const TUNING: &str = r#"{"cniVersion":"1.0.0","interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"/run/netns/blue","mac":"02:00:00:00:00:05"}],
    "ips":[{"interface":1,"address":"10.244.1.5/24","gateway":"10.244.1.1"}]}"#;

/// The node that the guide is about.
fn node() -> Host {
    let host = Host::new();
    host.conf(
        "10-pod-network.conflist",
        r#"{
  "cniVersion": "1.0.0",
  "name": "pod-network",
  "plugins": [
    {"type": "bridge", "ipam": {"type": "host-local", "subnet": "10.244.1.0/24"}},
    {"type": "tuning"},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}"#,
    )
    .conf("20-storage.conflist", "{\n  \"cniVersion\": \"1.0.0\",\n  \"name\": \"storage\n}\n")
    .plugin("bridge", &[("ADD", BRIDGE)])
    .plugin("host-local", &[])
    .plugin("tuning", &[("ADD", TUNING)])
    .plugin("portmap", &[("ADD", TUNING)]);
    host
}

/// Where the guide's node has what the test's has elsewhere.
fn places(host: &Host) -> [(&'static str, String); 3] {
    [("/etc/cni/net.d", "net.d"), ("/opt/cni/bin", "bin"), ("/var/lib/cni", "cache")]
        .map(|(there, here)| (there, host.path(here).display().to_string()))
}

/// Runs a line of the guide; what it prints, both streams together.
fn run(host: &Host, line: &str) -> String {
    let program = host.command(&[]);
    let (name, variables) = (program.get_program(), program.get_envs());
    let mut line = line.to_owned();
    for (there, here) in places(host) {
        line = line.replace(there, &here);
    }
    let script = format!("exec 2>&1\ncnitool() {{ {} \"$@\"; }}\n{line}", name.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(host.path("")).env_clear();
    shell.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let mut text = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    for (there, here) in places(host) {
        text = text.replace(&here, there);
    }
    text
}

#[test]
fn what_the_guide_shows_is_what_happens() {
    let host = node();
    let mut commands = 0;
    for section in GUIDE.split("\n## ") {
        // Needs plugins that are real: a test of the workspace has them.
        if section.starts_with("What plugins say of themselves") {
            continue;
        }
        if section.starts_with("When a plugin fails") {
            host.failing("portmap", "ADD", 999, "iptables: No such file or directory");
        }
        for block in section.split("```console\n").skip(1) {
            let block = block.split("```").next().unwrap();
            for (line, shown) in block.split("$ ").skip(1).map(|call| call.split_once('\n').unwrap()) {
                let told = run(&host, line);
                assert_eq!(steady_text(&told), steady_text(shown), "$ {line}\n{told}");
                commands += 1;
            }
        }
    }
    assert!(commands > 8, "{commands} commands");
}
