//! The nftables backend, and when it is taken.

use super::*;

/// The table of nftables with these addresses, each with the network and the container that it is said to belong to.
fn nft_table(addresses: &[(&str, &str, &str)]) -> String {
    let elements = addresses.iter().map(|(address, network, id)| {
        json!({"elem": {"val": address, "comment": Owner::new(network, id, "eth0").label()}})
    });
    let set = json!({"set": {
        "family": "inet", "table": "cni_plugins_firewall", "name": "containers_v4", "type": "ipv4_addr", "handle": 1,
        "elem": elements.collect::<Vec<_>>(),
    }});
    json!({"nftables": [set]}).to_string()
}

/// The addresses that a transaction deletes.
fn deleted(document: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(document).unwrap();
    let deleted = document["nftables"].as_array().unwrap().iter().filter_map(|command| {
        let element = &command.get("delete")?.get("element")?["elem"][0];
        element.as_str().map(str::to_owned)
    });
    deleted.collect()
}

const APPLY: &str = "nft -j -f -";
const CHAINS: &str = "nft -j list chains";
const NO_TABLE: &str = "Error: No such file or directory\n";

fn nft_add(host: &Host, keys: Value, id: &str, addresses: &[&str]) -> Invocation {
    Invocation::add(id, "/run/netns/x", "eth0").config(host.config(keys)).prev_result(prev_result(addresses))
}

/// What makes the first container's rules.
fn first() -> ScriptedTools {
    new().failure(NFT, NO_TABLE).success(APPLY, "").success(CHAINS, r#"{"nftables": []}"#)
}

#[test]
fn nftables_is_chosen_only_where_there_is_no_iptables() {
    let host = Host::new();
    let add = || nft_add(&host, json!({}), "c1", &["10.2.0.2/24"]);
    // One that fails is there, and may have what would drop all the same.
    let tools =
        new().missing("busctl").failure(SAVE, "Permission denied\n").failure(SAVE, "Permission denied\n");
    host.call(tools.failure(SAVE, "Permission denied\n"), add()).0.assert_error(999);
    let tools = new().missing("busctl").missing("iptables-save").missing("nft").missing("iptables-save");
    let (outcome, _) = host.call(tools.missing("nft").missing("iptables-save"), add());
    let msg = &outcome.assert_error(999).msg;
    assert!(
        msg.contains("no usable firewall: nftables: ")
            && msg.contains("\"nft\"")
            && msg.contains("iptables-save"),
        "{msg}"
    );
    let tools = new()
        .missing("busctl")
        .missing("iptables-save")
        .success("nft list tables", "")
        .failure(NFT, NO_TABLE)
        .success(APPLY, "")
        .success(CHAINS, r#"{"nftables": []}"#);
    host.good(tools, add());
    // The record tells.
    let tools = || new().success(NFT, &nft_table(&[("10.2.0.2", "n1", "c1")]));
    let stdins =
        host.good(tools().success(APPLY, ""), Invocation::del("c1", "eth0").config(host.config(json!({}))));
    assert_eq!(deleted(&stdins[1]), ["10.2.0.2"]);
}

#[test]
fn the_record_says_which_backend_has_made_the_rules() {
    let host = Host::new();
    let (by_iptables, by_nft) = (json!({"backend": "iptables"}), json!({"backend": "nftables"}));
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    host.good(first(), nft_add(&host, by_nft.clone(), "c2", &["10.2.0.3/24"]));
    let del = |id: &str, keys: &Value| Invocation::del(id, "eth0").config(host.config(keys.clone()));
    host.good(new().success(SAVE, &table(&[V4])).success(RESTORE, ""), del("c1", &by_nft));
    let tools = new().success(NFT, &nft_table(&[("10.2.0.3", "n1", "c2")])).success(APPLY, "");
    assert_eq!(deleted(&host.good(tools, del("c2", &by_iptables))[1]), ["10.2.0.3"]);
    // The other backend's rules go when ADD is repeated by another one.
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    let tools = new()
        .success(SAVE, &table(&[V4]))
        .success(RESTORE, "")
        .failure(NFT, NO_TABLE)
        .success(APPLY, "")
        .success(CHAINS, r#"{"nftables": []}"#);
    let stdins = host.good(tools, nft_add(&host, by_nft, "c1", &["10.2.0.2/24"]));
    assert!(stdins[1].contains("-D CNI-FORWARD -s 10.2.0.2/32"), "{stdins:?}");
}

#[test]
fn check_looks_where_the_record_says_whatever_is_asked_for_by_now() {
    let host = Host::new();
    let check = |id: &str, keys: Value| {
        let call = Invocation::check(id, "/run/netns/x", "eth0").config(host.config(keys));
        call.prev_result(prev_result(&["10.2.0.2/24"]))
    };
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    host.good(new().success(SAVE, &table(&[V4])), check("c1", json!({"backend": "nftables"})));
    // Nothing is recorded of this one.
    let (outcome, _) = host.call(new().failure(NFT, NO_TABLE), check("c2", json!({"backend": "nftables"})));
    outcome.assert_error(999);
}

#[test]
fn an_address_of_a_container_that_another_backend_let_through_is_still_taken_down() {
    let host = Host::new();
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    host.good(first(), nft_add(&host, json!({"backend": "nftables"}), "c2", &["10.2.0.2/24"]));
    let stdins = host.good(new().success(SAVE, &table(&[V4])).success(RESTORE, ""), host.del("c1"));
    assert!(stdins[1].contains("-D CNI-FORWARD -s 10.2.0.2/32"), "{stdins:?}");
}

#[test]
fn without_a_record_the_comment_says_whose_address_it_is() {
    let host = Host::new();
    let there = nft_table(&[("10.2.0.2", "n1", "c1"), ("10.2.0.3", "n1", "c2"), ("10.2.0.4", "n2", "c1")]);
    let keys = json!({"backend": "nftables"});
    let del = Invocation::del("c1", "eth0").config(host.config(keys.clone()));
    let stdins = host.good(new().success(NFT, &there).success(APPLY, ""), del);
    assert_eq!(deleted(&stdins[1]), ["10.2.0.2"]);
    let gc = |valid: &[(&str, &str)]| Invocation::gc(valid.iter().copied()).config(host.config(json!({})));
    let stdins = host.good(new().success(NFT, &there).success(APPLY, ""), gc(&[("c2", "eth0")]));
    assert_eq!(deleted(&stdins[1]), ["10.2.0.2"], "neither a valid attachment's nor of another network");
    // Whoever has it by the record keeps it, whatever the comment says.
    host.good(first(), nft_add(&host, keys, "c3", &["10.2.0.2/24"]));
    host.good(new().success(NFT, &there), gc(&[("c2", "eth0"), ("c3", "eth0")]));
}

#[test]
fn a_late_del_takes_no_address_that_the_comment_says_is_anothers() {
    let host = Host::new();
    for keys in [json!({"backend": "nftables"}), json!({})] {
        let del = Invocation::del("c1", "eth0").config(host.config(keys.clone()));
        let tools = if keys["backend"].is_null() { new().missing("busctl").success(SAVE, "") } else { new() };
        let there = nft_table(&[("10.2.0.2", "n1", "c2")]);
        host.good(tools.success(NFT, &there), del.prev_result(prev_result(&["10.2.0.2/24"])));
    }
}

#[test]
fn without_record_result_and_backend_nftables_is_asked_all_the_same() {
    let host = Host::new();
    let there = || new().success(NFT, &nft_table(&[("10.2.0.2", "n1", "c1"), ("10.2.0.3", "n1", "c2")]));
    let del = |keys: Value| Invocation::del("c1", "eth0").config(host.config(keys));
    assert_eq!(deleted(&host.good(there().success(APPLY, ""), del(json!({})))[1]), ["10.2.0.2"]);
    // Who says that there may be rules is told when nobody can look.
    let refused = || new().failure(NFT, "Operation not permitted (you must be root)\n");
    let (outcome, _) = host.call(refused(), del(json!({"backend": "nftables"})));
    assert!(outcome.assert_error(999).msg.contains("not permitted"));
    let gc = Invocation::gc([]).config(host.config(json!({"backend": "nftables"})));
    host.call(refused(), gc).0.assert_error(999);
    host.good(refused(), del(json!({})));
    host.good(new().missing("nft"), del(json!({"backend": "nftables"})));
}

#[test]
fn the_first_container_is_told_of_policies_that_drop() {
    let host = Host::new();
    let chain =
        json!({"family": "ip", "table": "filter", "name": "FORWARD", "hook": "forward", "policy": "drop"});
    let own = json!({"family": "inet", "table": "cni_plugins_firewall", "name": "forward", "hook": "forward", "policy": "drop"});
    let chains = json!({"nftables": [{"chain": chain}, {"chain": own}]}).to_string();
    let tools = new().success(CHAINS, &chains);
    assert_eq!(nft::droppers(&tools).unwrap(), ["ip filter FORWARD"]);
    // To look is no condition.
    let tools = new().failure(NFT, NO_TABLE).success(APPLY, "").failure(CHAINS, "no\n");
    host.good(tools, nft_add(&host, json!({"backend": "nftables"}), "c1", &["10.2.0.2/24"]));
}

#[test]
fn beside_firewalld_nftables_keeps_apart_where_there_is_no_iptables() {
    let host = Host::new();
    let keys = json!({"backend": "firewalld", "ingressPolicy": "isolated"});
    let call =
        |call: Invocation| call.config(host.config(keys.clone())).prev_result(prev_result(&["10.2.0.2/24"]));
    let chosen = |tools: ScriptedTools| tools.missing("iptables-save").success("nft list tables", "");
    let tools = chosen(new().success(&zone("addSource", V4), "")).failure(NFT, NO_TABLE).success(APPLY, "");
    let stdins = host.good(tools, call(Invocation::add("c1", "/run/netns/x", "eth0")));
    let made = &stdins[4];
    assert!(
        made.contains("isolated") && !made.contains("containers") && !made.contains("10.2.0.2"),
        "{made}"
    );
    let tools = chosen(new().success(&zone("querySource", V4), "b true\n")).failure(NFT, NO_TABLE);
    let (outcome, _) = host.call(tools, call(Invocation::check("c1", "/run/netns/x", "eth0")));
    outcome.assert_error(999);
    let netlink = host.kernel.host().netlink().unwrap();
    netlink.delete(&netlink.link("br0").unwrap()).unwrap();
    let bridges = json!({"set": {"name": "bridges", "elem": ["br0", "br1"]}});
    let tools = new()
        .success(&zone("removeSource", V4), "")
        .missing("iptables-save")
        .missing("ip6tables-save")
        .success(NFT, &json!({"nftables": [bridges]}).to_string())
        .success(APPLY, "");
    assert_eq!(
        deleted(&host.good(tools, Invocation::del("c1", "eth0").config(host.config(keys)))[4]),
        ["br0"]
    );
}
