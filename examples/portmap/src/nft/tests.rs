#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use std::path::PathBuf;

use plugin_support::testing::ScriptedTools;
use serde_json::{Value, json};

use super::*;
use crate::config::{Config, Settings};

const LIST: &str = "nft -j -t list table ip cni_hostport";
const LIST6: &str = "nft -j -t list table ip6 cni_hostport";
const RUN: &str = "nft -f -";
const NO_TABLE: &str = "Error: No such file or directory\nlist table ip cni_hostport\n";

fn owner(container_id: &str) -> Owner {
    Owner { network: "br".into(), container_id: container_id.into(), ifname: "eth0".into() }
}

fn forwardings(mut keys: Value, addresses: &[&str]) -> Vec<Forwarding> {
    if keys["runtimeConfig"].is_null() {
        keys["runtimeConfig"] = json!({"portMappings": [
            {"hostPort": 8080, "containerPort": 80, "protocol": "TCP"},
            {"hostPort": 8081, "containerPort": 81, "protocol": "udp"},
            {"hostPort": 8082, "containerPort": 82, "protocol": "sctp", "hostIP": "10.2.0.1"},
        ]});
    }
    let config: Config = serde_json::from_value(keys.clone()).unwrap();
    let request = cni_skel::types::config::PluginConfig::decode(keys.to_string().as_bytes()).unwrap();
    let addresses: Vec<_> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Forwarding::all(&Settings::new(&config, &request).unwrap(), &addresses)
}

fn nothing_against_it(_: &Forwarding, _: &[Claim]) -> Result<()> {
    Ok(())
}

/// What ADD runs where there is nothing.
fn first(keys: Value, addresses: &[&str]) -> String {
    let mut tools = ScriptedTools::new();
    for address in addresses {
        tools = tools.failure(if address.contains(':') { LIST6 } else { LIST }, NO_TABLE);
    }
    let tools = tools.success(RUN, "");
    add(&tools, &owner("cid1"), &forwardings(keys, addresses), nothing_against_it).unwrap();
    tools.assert_done();
    tools.stdins()[addresses.len()].clone()
}

/// Compares with a file of `tests/golden`; with `UPDATE_GOLDEN` in the environment, writes it.
#[track_caller]
fn assert_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    assert_eq!(actual, expected, "{path:?}");
}

fn matches(protocol: &str, field: &str, value: Value) -> Value {
    json!({"match": {"op": "==", "left": {"payload": {"protocol": protocol, "field": field}}, "right": value}})
}

fn local() -> Value {
    json!({"match": {"op": "==", "left": {"fib": {"result": "type", "flags": ["daddr"]}}, "right": "local"}})
}

fn rule(chain: &str, handle: u64, comment: Option<&str>, expr: Value) -> Value {
    let mut rule =
        json!({"family": "ip", "table": "cni_hostport", "chain": chain, "handle": handle, "expr": expr});
    if let Some(comment) = comment {
        rule["comment"] = json!(comment);
    }
    json!({"rule": rule})
}

/// The rules of a container with one port, from this handle on.
fn container(comment: &str, address: &str, port: u16, handle: u64) -> Vec<Value> {
    vec![
        rule(
            "hostports",
            handle,
            Some(comment),
            json!([matches("tcp", "dport", json!(port)), {"dnat": {"addr": address, "port": 80}}]),
        ),
        rule(
            "masquerading",
            handle + 1,
            Some(comment),
            json!([
            matches("ip", "saddr", json!(address)), matches("ip", "daddr", json!(address)), {"masquerade": null}]),
        ),
        rule(
            "masquerading",
            handle + 2,
            Some(comment),
            json!([
            matches("ip", "saddr", json!("127.0.0.1")), matches("ip", "daddr", json!(address)), {"masquerade": null}]),
        ),
    ]
}

/// What `nft` lists of the shared part.
fn shared() -> Vec<Value> {
    let chain = |name: &str, more: Value| {
        let mut chain = json!({"family": "ip", "table": "cni_hostport", "name": name, "handle": 1});
        chain.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"chain": chain})
    };
    let base = |hook: &str, prio: i64| json!({"type": "nat", "hook": hook, "prio": prio, "policy": "accept"});
    vec![
        json!({"metainfo": {"version": "1.0.6", "json_schema_version": 1}}),
        json!({"table": {"family": "ip", "name": "cni_hostport", "handle": 1}}),
        chain("hostports", json!({})),
        chain("hostip_hostports", json!({})),
        chain("hostports_all", json!({})),
        chain("prerouting", base("prerouting", -100)),
        chain("output", base("output", -100)),
        chain("masquerading", base("postrouting", 100)),
        rule("hostports_all", 2, None, json!([{"jump": {"target": "hostip_hostports"}}])),
        rule("hostports_all", 3, None, json!([{"jump": {"target": "hostports"}}])),
        rule("prerouting", 4, None, json!([local(), {"jump": {"target": "hostports_all"}}])),
        rule("output", 5, None, json!([local(), {"jump": {"target": "hostports_all"}}])),
    ]
}

fn listed(objects: Vec<Value>) -> String {
    json!({"nftables": objects}).to_string()
}

fn one_port() -> Value {
    json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}})
}

fn removal(container_id: &str, addresses: Option<&[&str]>, others: &[&str]) -> Removal {
    let parsed = |addresses: &[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
    Removal {
        network: "br".into(),
        container_id: container_id.into(),
        addresses: addresses.map(parsed),
        others: parsed(others),
        has_unknown: false,
    }
}

#[test]
fn c71_the_first_add_makes_both_families_in_one_transaction() {
    assert_golden("nft-first", &first(json!({}), &["10.2.0.2/24", "fd00::2/64"]));
}

#[test]
fn c72_masq_all_is_one_rule() {
    assert_golden("nft-masq-all", &first(json!({"masqAll": true}), &["10.1.0.5/16", "fd00::2/64"]));
    let without = first(json!({"snat": false}), &["10.1.0.5/16"]);
    assert!(!without.contains("masquerad"), "{without}");
}

#[test]
fn conditions_are_the_mappings_own() {
    // Go has them where every container's connections pass, and whoever comes last sets them for all.
    let keys = json!({"conditionsV4": ["ip", "saddr", "!=", "{", "192.0.2.0/24,", "198.51.100.0/24", "}"]});
    assert_golden("nft-conditions", &first(keys, &["10.2.0.2/24"]));
}

#[test]
fn a_second_container_adds_its_own_rules_alone() {
    let saved = listed([shared(), container("cid1", "10.2.0.2", 9090, 10)].concat());
    let tools = ScriptedTools::new().success(LIST, &saved).success(RUN, "");
    add(&tools, &owner("cid2"), &forwardings(one_port(), &["10.2.0.3/24"]), nothing_against_it).unwrap();
    assert_golden("nft-second-container", &tools.stdins()[1]);
}

#[test]
fn a_repeated_add_replaces() {
    let saved = listed(
        [shared(), container("cid1", "10.2.0.2", 8080, 10), container("cid1", "10.9.0.2", 8080, 20)].concat(),
    );
    let tools = ScriptedTools::new().success(LIST, &saved).success(RUN, "");
    add(&tools, &owner("cid1"), &forwardings(one_port(), &["10.2.0.2/24"]), nothing_against_it).unwrap();
    let script = &tools.stdins()[1];
    let deleted: Vec<_> = script.lines().filter(|line| line.starts_with("delete")).collect();
    assert_eq!(
        deleted,
        [
            "delete rule ip cni_hostport hostports handle 10",
            "delete rule ip cni_hostport masquerading handle 11",
            "delete rule ip cni_hostport masquerading handle 12",
        ],
        "what leads to another address is another network's"
    );
    assert_eq!(script.lines().filter(|line| line.starts_with("add")).count(), 3);
}

#[test]
fn a_jump_with_conditions_is_no_jump_for_all() {
    let conditional = rule(
        "prerouting",
        4,
        None,
        json!([
        matches("ip", "saddr", json!("192.0.2.1")), local(), {"jump": {"target": "hostports_all"}}]),
    );
    let mut objects = shared();
    objects[10] = conditional;
    let tools = ScriptedTools::new().success(LIST, &listed(objects)).success(RUN, "");
    add(&tools, &owner("cid1"), &forwardings(one_port(), &["10.2.0.2/24"]), nothing_against_it).unwrap();
    let added: Vec<_> =
        tools.stdins()[1].lines().filter(|line| line.contains("jump")).map(str::to_owned).collect();
    assert_eq!(added, ["add rule ip cni_hostport prerouting fib daddr type local jump hostports_all"]);
}

#[test]
fn two_networks_of_a_container_do_not_disturb_each_other() {
    // Go deletes all of the container's rules for either.
    let saved = listed(
        [shared(), container("cid1", "10.2.0.2", 8080, 10), container("cid1", "10.9.0.2", 9090, 20)].concat(),
    );
    for (known, others) in [(Some(&["10.2.0.2"][..]), &[][..]), (None, &["10.9.0.2"])] {
        let tools = ScriptedTools::new().success(LIST, &saved).success(RUN, "");
        remove(&tools, &[Family::V4], &[removal("cid1", known, others)]).unwrap();
        assert_golden("nft-del", &tools.stdins()[1]);
    }
}

#[test]
fn removals_of_many_take_each_rule_once_in_order() {
    // So many that whoever compares each with each is not done for minutes.
    const CONTAINERS: usize = 5_000;
    let id = |number: usize| format!("c{number}");
    let handle = |number: usize| 10 + 3 * number as u64;
    let all = (0..CONTAINERS).flat_map(|number| container(&id(number), "10.2.0.2", 8080, handle(number)));
    let saved = listed(shared().into_iter().chain(all).collect());
    // Half of them, beginning with the last, and these by two removals each.
    let half = || (0..CONTAINERS).step_by(2);
    let twice = [None, Some(&["10.2.0.2"][..])];
    let removals: Vec<_> =
        half().rev().flat_map(|number| twice.map(|known| removal(&id(number), known, &[]))).collect();
    let tools = ScriptedTools::new().success(LIST, &saved).success(RUN, "");
    remove(&tools, &[Family::V4], &removals).unwrap();
    let expected = half().flat_map(|number| {
        let first = handle(number);
        [("hostports", first), ("masquerading", first + 1), ("masquerading", first + 2)]
    });
    let expected: String = expected
        .map(|(chain, handle)| format!("delete rule ip cni_hostport {chain} handle {handle}\n"))
        .collect();
    // Not by `assert_eq`: nobody reads so much.
    let script = &tools.stdins()[1];
    let differs = script.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(*script == expected, "{differs:?}");
}

#[test]
fn a_removal_tells_udp_ports_and_covers_both_families() {
    let udp = rule(
        "hostports",
        9,
        Some("cid1"),
        json!([matches("udp", "dport", json!(53)), {"dnat": {"addr": "10.2.0.2", "port": 53}}]),
    );
    let tools = ScriptedTools::new()
        .success(LIST, &listed([shared(), vec![udp]].concat()))
        .failure(LIST6, NO_TABLE)
        .success(RUN, "");
    let ports = remove(&tools, &[Family::V4, Family::V6], &[removal("cid1", None, &[])]).unwrap();
    assert_eq!(ports, [(Family::V4, vec![53])]);
    tools.assert_done();
}

#[test]
fn what_release_1_6_made_goes_as_well() {
    let old = rule(
        "hostip_hostports",
        9,
        Some("cid1"),
        json!([
        matches("ip", "daddr", json!("192.0.2.1")), matches("ip", "protocol", json!("tcp")), matches("th", "dport", json!(8080)),
        {"dnat": {"family": "ip", "addr": {"concat": ["10.2.0.2", 80]}}}]),
    );
    let tools = ScriptedTools::new().success(LIST, &listed([shared(), vec![old]].concat())).success(RUN, "");
    remove(&tools, &[Family::V4], &[removal("cid1", Some(&["10.2.0.2"]), &[])]).unwrap();
    assert_eq!(tools.stdins()[1], "delete rule ip cni_hostport hostip_hostports handle 9\n");
}

#[test]
fn nothing_to_remove_changes_nothing() {
    let saved = listed([shared(), container("cid1", "10.2.0.2", 8080, 10)].concat());
    let tools = ScriptedTools::new().success(LIST, &saved).failure(LIST6, NO_TABLE);
    remove(&tools, &[Family::V4, Family::V6], &[removal("cid", None, &[])]).unwrap();
    tools.assert_done();
}

#[test]
fn a_rule_that_went_meanwhile_is_no_error() {
    let before = listed([shared(), container("cid1", "10.2.0.2", 8080, 10)].concat());
    let refusal = "/dev/stdin:1:1-55: Error: Could not process rule: No such file or directory\n";
    let tools =
        ScriptedTools::new().success(LIST, &before).failure(RUN, refusal).success(LIST, &listed(shared()));
    remove(&tools, &[Family::V4], &[removal("cid1", None, &[])]).unwrap();
    tools.assert_done();

    let tools = ScriptedTools::new().success(LIST, &before).failure(RUN, refusal).success(LIST, &before);
    let error = remove(&tools, &[Family::V4], &[removal("cid1", None, &[])]).unwrap_err();
    assert!(error.to_string().contains("Could not process rule"), "{error}");
}

#[test]
fn claims_are_those_of_other_containers() {
    let conditional = rule(
        "hostports",
        30,
        Some("cid2"),
        json!([
        matches("ip", "saddr", json!("192.0.2.1")), matches("ip", "daddr", json!("192.0.2.9")),
        matches("udp", "dport", json!(53)), {"dnat": {"addr": "10.2.0.3", "port": 5353}}]),
    );
    let saved = listed([shared(), container("cid1", "10.2.0.2", 8080, 10), vec![conditional]].concat());
    let seen_by = |container_id| {
        let tools = ScriptedTools::new().success(LIST, &saved);
        let table = Nft::new(&tools).table("ip", TABLE).unwrap().unwrap();
        let claims = seen::claims(&table, &owner(container_id));
        claims
            .into_iter()
            .map(|claim| (claim.container_id, claim.dnat.to_string(), claim.conditional))
            .collect::<Vec<_>>()
    };
    let (http, dns) = (
        ("cid1".to_owned(), "tcp port 8080 to 10.2.0.2:80".to_owned(), false),
        ("cid2".to_owned(), "udp 192.0.2.9:53 to 10.2.0.3:5353".to_owned(), true),
    );
    assert_eq!(seen_by("cid3"), [http.clone(), dns.clone()]);
    assert_eq!(seen_by("cid1"), [dns]);
    assert_eq!(seen_by("cid2"), [http]);
}

#[test]
fn c74_check_looks_at_every_rule() {
    let all = [shared(), container("cid1", "10.2.0.2", 8080, 10)].concat();
    let checked = |objects: Vec<Value>| {
        let tools = ScriptedTools::new().success(LIST, &listed(objects));
        check(&tools, &owner("cid1"), &forwardings(one_port(), &["10.2.0.2/24"])[0])
    };
    checked(all.clone()).unwrap();
    let mut refused = Vec::new();
    // Without the heading, the table, and the legacy chain and the jump there, each is missed.
    for index in (0..all.len()).filter(|index| ![0, 1, 2, 3, 4, 8].contains(index)) {
        let mut objects = all.clone();
        let without = objects.remove(index);
        let error = checked(objects).expect_err(&without.to_string());
        refused.push(error.to_string());
    }
    refused.dedup();
    assert_eq!(
        refused,
        [
            r#"missing jump to "hostports_all" in "prerouting" chain of table ip (code 999)"#,
            r#"missing jump to "hostports_all" in "output" chain of table ip (code 999)"#,
            r#"missing hostport rules in "masquerading" chain: from 10.2.0.2 to 10.2.0.2 (code 999)"#,
            r#"missing jump to "hostports" in "hostports_all" chain of table ip (code 999)"#,
            r#"missing jump to "hostports_all" in "prerouting" chain of table ip (code 999)"#,
            r#"missing jump to "hostports_all" in "output" chain of table ip (code 999)"#,
            r#"missing hostport rules in "hostports" chain: tcp port 8080 to 10.2.0.2:80 (code 999)"#,
            r#"missing hostport rules in "masquerading" chain: from 10.2.0.2 to 10.2.0.2 (code 999)"#,
            r#"missing hostport rules in "masquerading" chain: from 127.0.0.1 to 10.2.0.2 (code 999)"#,
        ]
    );
}

#[test]
fn check_refuses_what_is_not_as_it_was_made() {
    let checked = |rule: Value| {
        let tools = ScriptedTools::new().success(LIST, &listed([shared(), vec![rule]].concat()));
        let forwarding = &forwardings(
            json!({"snat": false, "runtimeConfig": one_port()["runtimeConfig"]}),
            &["10.2.0.2/24"],
        )[0];
        check(&tools, &owner("cid1"), forwarding).is_ok()
    };
    let (port, to) =
        (matches("tcp", "dport", json!(8080)), json!({"dnat": {"addr": "10.2.0.2", "port": 80}}));
    assert!(checked(rule(
        "hostports",
        9,
        Some("cid1"),
        json!([port, {"counter": {"packets": 1, "bytes": 2}}, to])
    )));
    for (why, wrong) in [
        ("another container", rule("hostports", 9, Some("cid2"), json!([port, to]))),
        ("nothing leads there", rule("elsewhere", 9, Some("cid1"), json!([port, to]))),
        (
            "another address",
            rule("hostports", 9, Some("cid1"), json!([port, {"dnat": {"addr": "10.2.0.3", "port": 80}}])),
        ),
        (
            "another port",
            rule("hostports", 9, Some("cid1"), json!([port, {"dnat": {"addr": "10.2.0.2", "port": 81}}])),
        ),
        (
            "one source alone",
            rule("hostports", 9, Some("cid1"), json!([matches("ip", "saddr", json!("192.0.2.1")), port, to])),
        ),
        (
            "another match",
            rule(
                "hostports",
                9,
                Some("cid1"),
                json!([{"match": {"op": "==", "left": {"meta": {"key": "mark"}}, "right": 1}}, port, to]),
            ),
        ),
        (
            "one address of the host",
            rule("hostports", 9, Some("cid1"), json!([matches("ip", "daddr", json!("192.0.2.1")), port, to])),
        ),
    ] {
        assert!(!checked(wrong), "{why}");
    }
}

#[test]
fn check_with_conditions_looks_for_the_rest() {
    let forwarding = |conditions: Value| {
        let mut keys = one_port();
        keys["conditionsV4"] = conditions;
        forwardings(keys, &["10.2.0.2/24"]).remove(0)
    };
    let of_interest = forwarding(json!(["ip", "daddr", "192.0.2.9"]));
    let comment = script::conditions_comment(&of_interest).unwrap();
    let mut objects = [shared(), container("cid1", "10.2.0.2", 8080, 10)].concat();
    for chain in ["prerouting", "output"] {
        objects.push(rule(
            chain,
            40,
            Some(&comment),
            json!([
            matches("ip", "daddr", json!("192.0.2.9")), local(), {"jump": {"target": "hostports_all"}}]),
        ));
    }
    objects[12]["rule"]["expr"].as_array_mut().unwrap().insert(0, matches("ip", "daddr", json!("192.0.2.9")));
    for (conditions, good) in
        [(json!(["ip", "daddr", "192.0.2.9"]), true), (json!(["ip", "daddr", "192.0.2.8"]), false)]
    {
        let tools = ScriptedTools::new().success(LIST, &listed(objects.clone()));
        assert_eq!(check(&tools, &owner("cid1"), &forwarding(conditions)).is_ok(), good);
    }
}

#[test]
fn without_a_table_check_fails() {
    let tools = ScriptedTools::new().failure(LIST, NO_TABLE);
    let error = check(&tools, &owner("cid1"), &forwardings(one_port(), &["10.2.0.2/24"])[0]).unwrap_err();
    assert_eq!(error.to_string(), "table ip cni_hostport not found (code 999)");
}

#[test]
fn ids_of_any_length_are_told_apart() {
    // nft takes comments of 128 bytes, and Go gives it the whole ID.
    let long = ["a", "b"].map(|end| format!("{}{end}", "c".repeat(200)));
    let tools = ScriptedTools::new().failure(LIST, NO_TABLE).success(RUN, "");
    add(&tools, &owner(&long[0]), &forwardings(one_port(), &["10.2.0.2/24"]), nothing_against_it).unwrap();
    let comment = names::nft_comment(&long[0]);
    assert!(tools.stdins()[1].contains(&format!(r#"dnat to 10.2.0.2:80 comment "{comment}""#)));
    assert!(comment.len() <= 128 && is_of(Some(&comment), &long[0]) && !is_of(Some(&comment), &long[1]));
}
