//! The same calls to Go's plugin and to this one: equal results, and errors that contain Go's.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Where Debian's `containernetworking-plugins` puts it.
const GO: &str = "/usr/lib/cni/static";
const OURS: &str = env!("CARGO_BIN_EXE_static");

fn add(program: &str, args: &str, config: &Value) -> Value {
    let mut child = Command::new(program)
        .env_clear()
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", "c1")
        .env("CNI_NETNS", "/run/netns/none")
        .env("CNI_IFNAME", "eth0")
        .env("CNI_ARGS", args)
        .env("CNI_PATH", "/usr/lib/cni")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A plugin that fails early need not read its stdin.
    let _ = child.stdin.take().unwrap().write_all(config.to_string().as_bytes());
    let mut answer: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    // Go prints it even when there is nothing in it.
    if answer.get("dns") == Some(&json!({})) {
        answer.as_object_mut().unwrap().remove("dns");
    }
    answer
}

#[test]
fn results_are_gos_and_errors_contain_gos_words() {
    if !Path::new(GO).exists() {
        // No other package's test kit is needed here, so the words are its own.
        assert!(
            std::env::var_os("CNI_TEST_REQUIRE").is_none_or(|value| value != "1"),
            "must not be skipped: no {GO}"
        );
        writeln!(std::io::stderr(), "SKIPPED: no Go plugin {GO}").unwrap();
        return;
    }
    let addresses = json!([{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00::5/64"}]);
    let ipam =
        json!({"addresses": addresses, "routes": [{"dst": "0.0.0.0/0"}], "dns": {"domain": "a.example"}});
    let one = |address: Value| json!({"ipam": {"addresses": [address]}});
    let cases = [
        (json!({"ipam": ipam}), ""),
        (json!({"ipam": ipam}), "IP=10.2.0.5/24, 10.3.0.5/16;GATEWAY=10.2.0.1"),
        (json!({"ipam": ipam}), "IP=;GATEWAY=;IgnoreUnknown=1;K8S_POD_NAME=p"),
        (json!({"ipam": ipam, "args": {"cni": {"ips": ["10.7.0.1/24"]}}}), "IP=10.2.0.5/24"),
        (
            json!({"ipam": ipam, "args": {"cni": {"ips": ["10.7.0.1/24"]}}, "runtimeConfig": {"ips": ["10.8.0.1/24"]}}),
            "",
        ),
        (json!({"ipam": {}}), ""),
        (one(json!({"address": "::ffff:10.1.0.5/120"})), ""),
        (json!({"ipam": ipam}), "IP=10.2.0.5"),
        (json!({"ipam": ipam}), "GATEWAY=bogus"),
        (json!({"ipam": ipam}), "ip=10.2.0.5/24"),
        (json!({"ipam": ipam, "args": {"cni": {"ips": ["10.7.0.1"]}}}), ""),
        (json!({"ipam": ipam, "runtimeConfig": {"ips": ["10.7.0.1"]}}), ""),
        (one(json!({"address": "10.1.0.5"})), ""),
        (one(json!({"gateway": "10.1.0.1"})), ""),
        (one(json!({"address": "10.1.0.5/24", "gateway": "bogus"})), ""),
        (json!({}), ""),
    ];
    for (mut config, args) in cases {
        for version in ["1.0.0", "0.3.1", "0.2.0"] {
            config["cniVersion"] = json!(version);
            config["name"] = json!("n1");
            config["type"] = json!("static");
            let (theirs, ours) = (add(GO, args, &config), add(OURS, args, &config));
            match theirs["msg"].as_str() {
                None => assert_eq!(ours, theirs, "{config} {args}"),
                Some(msg) => {
                    let ours = ours["msg"].as_str().unwrap_or("none");
                    assert!(ours.contains(msg), "{config} {args}\n  Go: {msg}\nours: {ours}");
                }
            }
        }
    }
}
