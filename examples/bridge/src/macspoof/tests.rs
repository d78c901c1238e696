use plugin_support::kernel::Kernel;
use plugin_support::netlink::{LinkKind, NewLink, Peer};
use plugin_support::testing::{FakeKernel, ScriptedTools};

use super::*;

const RUN: &str = "nft -j -f -";
const LIST: &str = "nft -j -t list table bridge nat";
const NO_TABLE: &str = "Error: No such file or directory\n";
const MAC: Mac = Mac([0x0a, 0x58, 0, 0, 0, 1]);

fn owner() -> Owner {
    Owner::new("n1", "c1", "eth0")
}

/// What `nft` prints when these attachments have rules, each with the link that they are for.
fn listed(owners: &[(&Owner, &str)]) -> String {
    let mut objects = vec![
        json!({"chain": {"family": "bridge", "table": "nat", "name": "PREROUTING", "handle": 1, "hook": "prerouting", "prio": -300}}),
    ];
    let mut handle = 2;
    for (owner, port) in owners {
        for name in owner.spoof_chains() {
            objects.push(json!({"chain": {"family": "bridge", "table": "nat", "name": name, "handle": 0}}));
        }
        for (chain, expr) in wanted(owner, port, MAC) {
            objects.push(json!({"rule": {"family": "bridge", "table": "nat", "chain": chain, "handle": handle, "comment": owner.spoof_comment(), "expr": expr}}));
            handle += 1;
        }
    }
    json!({"nftables": objects}).to_string()
}

/// The commands of a call, in short.
fn commands(tools: &ScriptedTools, call: usize) -> Vec<String> {
    let document: Value = serde_json::from_str(&tools.stdins()[call]).unwrap();
    let short = |command: &Value| {
        let (verb, object) = command.as_object().unwrap().iter().next().unwrap();
        let (what, fields) = object.as_object().unwrap().iter().next().unwrap();
        let name = fields.get("name").or(fields.get("chain")).and_then(Value::as_str).unwrap_or_default();
        let handle = fields.get("handle").map(|handle| format!(" {handle}")).unwrap_or_default();
        format!("{verb} {what} {name}{handle}")
    };
    document["nftables"].as_array().unwrap().iter().map(short).collect()
}

#[test]
fn rules_are_gos_in_one_transaction() {
    let tools = ScriptedTools::new().success(RUN, "");
    add(&tools, &owner(), "veth1", MAC).unwrap();
    tools.assert_done();
    let document: Value = serde_json::from_str(&tools.stdins()[0]).unwrap();
    let rule = |chain: &str, expr: Value| json!({"add": {"rule": {"family": "bridge", "table": "nat", "chain": chain, "expr": expr, "comment": "macspoofchk-c1-eth0"}}});
    let chain = |name: &str| json!({"create": {"chain": {"family": "bridge", "table": "nat", "name": name}}});
    let (of_port, of_mac) = ("cni-br-iface-c1-eth0", "cni-br-iface-c1-eth0-mac");
    assert_eq!(
        document,
        json!({"nftables": [
            chain(of_port),
            chain(of_mac),
            rule("PREROUTING", json!([{"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "veth1"}}, {"jump": {"target": of_port}}])),
            rule(of_port, json!([{"jump": {"target": of_mac}}])),
            rule(of_mac, json!([{"match": {"op": "==", "left": {"payload": {"protocol": "ether", "field": "saddr"}}, "right": "0a:58:00:00:00:01"}}, {"return": null}])),
            rule(of_mac, json!([{"drop": null}])),
        ]})
    );
}

#[test]
fn the_first_container_makes_the_table_and_leftovers_are_replaced() {
    let tools = ScriptedTools::new().failure(RUN, NO_TABLE).failure(LIST, NO_TABLE).success(RUN, "");
    add(&tools, &owner(), "veth1", MAC).unwrap();
    let own = commands(&tools, 0);
    assert_eq!(
        commands(&tools, 2),
        [&["add table nat".into(), "add chain PREROUTING".into()][..], &own].concat()
    );

    let other = Owner::new("n1", "c2", "eth0");
    let listing = listed(&[(&owner(), "veth0"), (&other, "veth2")]);
    let tools = ScriptedTools::new().failure(RUN, "File exists\n").success(LIST, &listing).success(RUN, "");
    add(&tools, &owner(), "veth1", MAC).unwrap();
    tools.assert_done();
    assert_eq!(
        commands(&tools, 2)[2..5],
        [
            "delete rule PREROUTING 2",
            "delete chain cni-br-iface-c1-eth0",
            "delete chain cni-br-iface-c1-eth0-mac"
        ]
    );
    let tools = ScriptedTools::new().missing("nft");
    let error = add(&tools, &owner(), "veth1", MAC).unwrap_err().to_object();
    assert!(error.msg.starts_with("failed to setup spoof-check: failed to find \"nft\""), "{error}");
}

#[test]
fn only_what_is_there_is_removed() {
    let other = Owner::new("n1", "c2", "eth0");
    let listing = listed(&[(&other, "veth2"), (&owner(), "veth1")]);
    let tools = ScriptedTools::new().success(LIST, &listing).success(RUN, "");
    remove(&tools, &owner()).unwrap();
    tools.assert_done();
    assert_eq!(
        commands(&tools, 1),
        [
            "delete rule PREROUTING 6",
            "delete chain cni-br-iface-c1-eth0",
            "delete chain cni-br-iface-c1-eth0-mac"
        ]
    );
    for tools in [
        ScriptedTools::new().success(LIST, &listed(&[(&other, "veth2")])),
        ScriptedTools::new().failure(LIST, NO_TABLE),
        ScriptedTools::new().missing("nft"),
    ] {
        remove(&tools, &owner()).unwrap();
        tools.assert_done();
    }
    let tools = ScriptedTools::new().failure(LIST, "Operation not permitted\n");
    assert!(
        remove(&tools, &owner()).unwrap_err().to_object().msg.starts_with("failed to teardown spoof-check")
    );
}

#[test]
fn check_finds_every_rule_that_is_missing() {
    let complete = listed(&[(&owner(), "veth1")]);
    let check = |listing: &str, port: &str, mac: Mac| {
        let tools = ScriptedTools::new().success(LIST, listing);
        super::check(&tools, &owner(), port, mac)
    };
    check(&complete, "veth1", MAC).unwrap();
    let counted =
        complete.replace("[{\"drop\":null}]", "[{\"counter\":{\"packets\":1,\"bytes\":2}},{\"drop\":null}]");
    assert_ne!(counted, complete);
    check(&counted, "veth1", MAC).unwrap();
    for (port, mac, listing) in [
        ("veth2", MAC, complete.clone()),
        ("veth1", Mac([2; 6]), complete.clone()),
        ("veth1", MAC, complete.replace("\"drop\"", "\"accept\"")),
        ("veth1", MAC, complete.replace("\"hook\"", "\"nohook\"")),
    ] {
        let error = check(&listing, port, mac).unwrap_err().to_object();
        assert!(error.msg.starts_with("macspoofchk: "), "{error}");
    }
}

#[test]
fn gc_removes_rules_of_links_that_are_gone() {
    let netlink = Kernel::from(&FakeKernel::new()).current().unwrap().netlink().unwrap();
    netlink.create(&NewLink::new("veth1", LinkKind::Veth(Peer::new("x")))).unwrap();
    let (valid, gone) = (Owner::new("n1", "c2", "eth0"), Owner::new("n9", "c3", "eth0"));
    // One whose link is there (of whichever network), one that is valid though its link is gone, one that is stale.
    let listing = listed(&[(&owner(), "veth1"), (&valid, "veth2"), (&gone, "veth3")]);
    let tools = ScriptedTools::new().success(LIST, &listing).success(RUN, "");
    collect(&tools, &netlink, "n1", &[Attachment::new("c2", "eth0")]).unwrap();
    tools.assert_done();
    assert_eq!(
        commands(&tools, 1),
        [
            "delete rule PREROUTING 10",
            "delete chain cni-br-iface-c3-eth0",
            "delete chain cni-br-iface-c3-eth0-mac"
        ]
    );
}

#[test]
fn what_somebody_else_has_removed_meanwhile_is_looked_at_again() {
    let other = Owner::new("n1", "c2", "eth0");
    let both = listed(&[(&owner(), "veth1"), (&other, "veth2")]);
    let rest = listed(&[(&other, "veth2")]);
    let tools = ScriptedTools::new()
        .success(LIST, &both)
        .failure(RUN, "No such file or directory\n")
        .success(LIST, &rest);
    remove(&tools, &owner()).unwrap();
    tools.assert_done();

    let netlink = Kernel::from(&FakeKernel::new()).current().unwrap().netlink().unwrap();
    let tools = ScriptedTools::new()
        .success(LIST, &both)
        .failure(RUN, "No such file or directory\n")
        .success(LIST, &rest)
        .success(RUN, "");
    collect(&tools, &netlink, "n1", &[]).unwrap();
    tools.assert_done();
    assert_eq!(commands(&tools, 1).len(), 6);
    assert_eq!(commands(&tools, 3).len(), 3);
}
