//! Beside Go's plugin on one data directory, by turns and at once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::network::Network;

/// Where Debian's `containernetworking-plugins` puts it.
const GO: &str = "/usr/lib/cni/host-local";
const OURS: &str = env!("CARGO_BIN_EXE_host-local");

/// Go's plugin and ours; `None` where Go's is not installed.
fn both() -> Option<[&'static str; 2]> {
    if Path::new(GO).exists() {
        return Some([GO, OURS]);
    }
    plugin_support::testing::skip("no Go plugin /usr/lib/cni/host-local");
    None
}

fn call(program: &str, command: &str, id: &str, args: &str, config: &Value) -> Output {
    let mut child = Command::new(program)
        .env_clear()
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", id)
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
    child.wait_with_output().unwrap()
}

/// The document that a call prints; `null` for none.
fn answer(program: &str, command: &str, id: &str, args: &str, config: &Value) -> Value {
    let output = call(program, command, id, args, config);
    let mut answer =
        if output.stdout.is_empty() { Value::Null } else { serde_json::from_slice(&output.stdout).unwrap() };
    assert_eq!(output.status.success(), answer.get("msg").is_none(), "{answer}");
    // Go prints it even when there is nothing in it.
    if answer.get("dns") == Some(&json!({})) {
        answer.as_object_mut().unwrap().remove("dns");
    }
    answer
}

#[track_caller]
fn succeed(program: &str, command: &str, id: &str, config: &Value) -> Value {
    let answer = answer(program, command, id, "", config);
    assert_eq!(answer.get("msg"), None, "{program} {command} {id}: {answer}");
    answer
}

fn dual_stack() -> Network {
    Network::of(&["10.2.0.0/24", "fd00::/64"]).in_version("1.0.0")
}

#[test]
fn what_one_adds_the_other_checks_and_deletes() {
    let Some([go, ours]) = both() else { return };
    for (first, second) in [(go, ours), (ours, go)] {
        let net = dual_stack();
        let mut config = net.config();
        let result = succeed(first, "ADD", "c1", &config);
        assert_eq!(net.reserved().len(), 2);
        let again = answer(second, "ADD", "c1", "", &config);
        assert!(again["msg"].as_str().unwrap().contains("10.2.0.2 has been allocated to c1"), "{again}");
        // Go's plugin, when the first set fails, frees nothing.
        assert_eq!(net.reserved().len(), 2);
        config["prevResult"] = result;
        succeed(second, "CHECK", "c1", &config);
        succeed(second, "DEL", "c1", &config);
        assert_eq!(net.reserved(), [""; 0]);
        let gone = answer(first, "CHECK", "c1", "", &config);
        assert!(
            gone["msg"]
                .as_str()
                .unwrap()
                .contains("host-local: Failed to find address added by container c1")
        );
        succeed(first, "DEL", "c1", &config);
    }
}

#[test]
fn they_take_turns_in_one_round() {
    let Some(both) = both() else { return };
    let net = dual_stack();
    let config = net.config();
    for n in 2..40 {
        // Runs of one, two and three of each.
        let program = both[(n / (1 + n % 3)) % 2];
        let result = succeed(program, "ADD", &format!("c{n}"), &config);
        assert_eq!(result["ips"][0]["address"], format!("10.2.0.{n}/24"));
        assert_eq!(result["ips"][1]["address"], format!("fd00::{n:x}/64"));
        if n % 5 == 0 {
            succeed(both[n / 5 % 2], "DEL", &format!("c{}", n - 1), &config);
        }
    }
    let freed = (2..40).filter(|n| n % 5 == 0).count();
    assert_eq!(net.reserved().len(), 2 * (38 - freed));
}

#[test]
fn the_same_calls_leave_the_same_files() {
    let Some(both) = both() else { return };
    let left = both.map(|program| {
        let net = dual_stack();
        let config = net.config();
        let mut answers = Vec::new();
        for id in ["c1", "c2", "c3"] {
            answers.push(succeed(program, "ADD", id, &config));
        }
        answers.push(answer(program, "ADD", "c4", "IP=10.2.0.77;IgnoreUnknown=1;K8S_POD_NAME=p", &config));
        answers.push(succeed(program, "DEL", "c2", &config));
        answers.push(succeed(program, "ADD", "c5", &config));
        (answers, net.files())
    });
    assert_eq!(left[0], left[1]);
}

#[test]
fn errors_contain_gos_words() {
    let Some([go, ours]) = both() else { return };
    let second_set = json!([[{"subnet": "10.3.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]);
    let cases = [
        (json!({}), ""),
        (json!({"ranges": [[]]}), ""),
        (json!({"subnet": "10.8.0.0/31"}), ""),
        (json!({"subnet": "fd00::/127"}), ""),
        (json!({"subnet": "10.8.0.3/24"}), ""),
        (json!({"subnet": "::ffff:10.8.0.0/120"}), ""),
        (json!({"subnet": "bogus"}), ""),
        (json!({"subnet": "10.8.0.0/24", "rangeStart": "bogus"}), ""),
        (json!({"subnet": "10.8.0.0/24", "rangeStart": "10.9.0.1"}), ""),
        (json!({"subnet": "10.8.0.0/24", "rangeEnd": "10.9.0.1"}), ""),
        (json!({"subnet": "10.8.0.0/24", "rangeStart": "10.8.0.9", "rangeEnd": "10.8.0.5"}), ""),
        (json!({"ranges": [[{"subnet": "10.8.0.0/24"}, {"subnet": "fd00::/64"}]]}), ""),
        (json!({"ranges": [[{"subnet": "10.8.0.0/24"}, {"subnet": "10.8.0.0/16"}]]}), ""),
        (json!({"ranges": [[{"subnet": "10.8.0.0/24"}], [{"subnet": "10.8.0.0/16"}]]}), ""),
        (json!({"subnet": "10.8.0.0/24", "resolvConf": "/no/such/file"}), ""),
        (json!({"subnet": "10.2.0.0/24"}), "IP=10.2.0.1"),
        (json!({"subnet": "10.2.0.0/24"}), "IP=10.2.0.2"),
        (json!({"subnet": "10.2.0.0/24"}), "IP=192.0.2.1"),
        (json!({"subnet": "10.2.0.0/24"}), "IP=bogus"),
        (json!({"subnet": "10.2.0.0/24"}), "ip=10.2.0.9"),
        (json!({"subnet": "10.2.0.0/30"}), ""),
        (json!({"ranges": second_set}), "IP=10.2.0.2"),
    ];
    for (ipam, args) in cases {
        let mut net = Network::of(&["10.2.0.0/24"]).in_version("1.0.0");
        succeed(ours, "ADD", "c1", &net.config());
        net.change(ipam.clone());
        let theirs = answer(go, "ADD", "c2", args, &net.config());
        let before = net.files();
        let answer = answer(ours, "ADD", "c2", args, &net.config());
        let (theirs, answer) = (theirs["msg"].as_str().unwrap(), answer["msg"].as_str().unwrap());
        assert!(answer.contains(theirs), "{ipam} {args}\n  Go: {theirs}\nours: {answer}");
        assert_eq!(net.files(), before);
    }
}

#[test]
fn parallel_adds_of_both_share_no_address_and_lose_none() {
    if let Some(both) = both() {
        share_a_directory(both);
    }
}

#[test]
fn parallel_adds_of_ours_share_no_address_and_lose_none() {
    share_a_directory([OURS, OURS]);
}

/// ADDs and DELs of two programs at once.
fn share_a_directory(both: [&'static str; 2]) {
    let net = Network::of(&["10.2.0.0/25", "fd00::/64"]).in_version("1.0.0");
    let config = net.config();
    let given: Vec<(String, Value)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|worker| {
                let (program, config) = (both[worker % 2], &config);
                scope.spawn(move || {
                    let mut given = BTreeMap::new();
                    for n in 0..12 {
                        let id = format!("w{worker}-{n}");
                        given.insert(id.clone(), succeed(program, "ADD", &id, config));
                        // The other one takes every third away again.
                        if n % 3 == 2 {
                            succeed(both[(worker + 1) % 2], "DEL", &id, config);
                            given.remove(&id);
                        }
                    }
                    given
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(given.len(), 64);
    let addresses: Vec<String> = given
        .iter()
        .flat_map(|(_, result)| result["ips"].as_array().unwrap())
        .map(|ip| ip["address"].as_str().unwrap().split_once('/').unwrap().0.to_owned())
        .collect();
    let distinct: BTreeSet<String> = addresses.iter().cloned().collect();
    assert_eq!(distinct.len(), addresses.len(), "an address was given twice");
    assert_eq!(net.reserved().into_iter().collect::<BTreeSet<_>>(), distinct);
    for (id, result) in &given {
        for ip in result["ips"].as_array().unwrap() {
            let address = ip["address"].as_str().unwrap().split_once('/').unwrap().0;
            assert_eq!(net.read(address), format!("{id}\r\neth0"));
        }
    }
    std::thread::scope(|scope| {
        for (at, chunk) in given.chunks(8).enumerate() {
            let config = &config;
            scope.spawn(move || {
                for (id, _) in chunk {
                    succeed(both[at % 2], "DEL", id, config);
                }
            });
        }
    });
    assert_eq!(net.reserved(), [""; 0]);
}
