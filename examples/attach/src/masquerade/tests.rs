use plugin_support::testing::ScriptedTools;
use serde_json::json;

use super::*;

const RESTORE: &str = "iptables-restore --noflush --wait=60";
const RESTORE6: &str = "ip6tables-restore --noflush --wait=60";
const SAVE: &str = "iptables-save --table nat";
const SAVE6: &str = "ip6tables-save --table nat";
const NFT: &str = "nft -f -";
const NFT_LIST: &str = "nft -j -t list table inet cni_plugins_masquerade";
const CHAIN: &str = "CNI-7be53730afe4dc6eb2178d03";
const NOTHING: &str = "*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n";
const NO_TABLE: &str = "Error: No such file or directory\n";

fn owner() -> Owner {
    Owner::new("n1", "c1", "eth0")
}

fn cidrs(texts: &[&str]) -> Vec<Cidr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// What `iptables-save` prints for one address of the container, and another container's rules beside them.
fn saved(jumps: &[&str]) -> String {
    let jumps: String = jumps
        .iter()
        .map(|source| format!("-A POSTROUTING -s {source} -m comment --comment \"name: \\\"n1\\\" id: \\\"c1\\\"\" -j {CHAIN}\n"))
        .collect();
    format!(
        "*nat\n:POSTROUTING ACCEPT [0:0]\n:{CHAIN} - [0:0]\n:CNI-000000000000000000000000 - [0:0]\n\
         {jumps}-A POSTROUTING -s 10.9.0.9/32 -m comment --comment \"name: \\\"n1\\\" id: \\\"c9\\\"\" -j CNI-000000000000000000000000\n\
         -A {CHAIN} -d 10.1.0.0/24 -m comment --comment \"name: \\\"n1\\\" id: \\\"c1\\\"\" -j ACCEPT\n\
         -A {CHAIN} ! -d 224.0.0.0/4 -m comment --comment \"name: \\\"n1\\\" id: \\\"c1\\\"\" -j MASQUERADE\nCOMMIT\n"
    )
}

/// What `nft` prints for rules with these comments.
fn listed(comments: &[(u64, String)]) -> String {
    let rules = comments.iter().map(|(handle, comment)| {
        json!({"rule": {"family": "inet", "table": "cni_plugins_masquerade", "chain": "masq_checks", "handle": handle, "comment": comment, "expr": [
            {"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": "10.1.0.5"}},
            {"match": {"op": "!=", "left": {"payload": {"protocol": "ip", "field": "daddr"}}, "right": {"prefix": {"addr": "10.1.0.0", "len": 24}}}},
            {"masquerade": null},
        ]}})
    });
    let base = [
        json!({"chain": {"family": "inet", "table": "cni_plugins_masquerade", "name": "postrouting", "handle": 1, "type": "nat", "hook": "postrouting", "prio": 100}}),
        json!({"rule": {"family": "inet", "table": "cni_plugins_masquerade", "chain": "postrouting", "handle": 2, "expr": [{"goto": {"target": "masq_checks"}}]}}),
    ];
    json!({"nftables": base.into_iter().chain(rules).collect::<Vec<_>>()}).to_string()
}

fn by<'a>(tools: &'a ScriptedTools, owner: &'a Owner, backend: Option<Backend>) -> Rules<'a> {
    Rules { tools, owner, settings: Masquerade { backend } }
}

fn known(addresses: &[&str]) -> Known {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    Known { addresses: Some(addresses), ..Known::default() }
}

#[test]
fn iptables_rules_are_gos_in_one_transaction_a_family() {
    let tools = ScriptedTools::new().success(RESTORE, "").success(RESTORE6, "");
    by(&tools, &owner(), Some(Backend::Iptables)).add(&cidrs(&["10.1.0.5/24", "fd00::5/64"])).unwrap();
    tools.assert_done();
    let comment = r#"-m comment --comment "name: \"n1\" id: \"c1\"""#;
    assert_eq!(
        tools.stdins(),
        [
            format!(
                "*nat\n-N {CHAIN}\n-A {CHAIN} -d 10.1.0.0/24 {comment} -j ACCEPT\n-A {CHAIN} ! -d 224.0.0.0/4 {comment} -j MASQUERADE\n\
                 -A POSTROUTING -s 10.1.0.5/32 {comment} -j {CHAIN}\nCOMMIT\n"
            ),
            format!(
                "*nat\n-N {CHAIN}\n-A {CHAIN} -d fd00::/64 {comment} -j ACCEPT\n-A {CHAIN} ! -d ff00::/8 {comment} -j MASQUERADE\n\
                 -A POSTROUTING -s fd00::5/128 {comment} -j {CHAIN}\nCOMMIT\n"
            ),
        ]
    );
}

#[test]
fn the_exceptions_of_several_networks_come_before_the_rule() {
    let tools = ScriptedTools::new().success(RESTORE, "");
    by(&tools, &owner(), None).add(&cidrs(&["10.1.0.5/24", "10.1.0.6/24", "10.2.0.5/24"])).unwrap();
    let targets: Vec<_> =
        tools.stdins()[0].lines().filter_map(|line| line.split("-j ").nth(1).map(str::to_owned)).collect();
    assert_eq!(targets, ["ACCEPT", "ACCEPT", "MASQUERADE", CHAIN, CHAIN, CHAIN]);
}

#[test]
fn a_second_interface_in_the_network_adds_to_the_chain() {
    let tools = ScriptedTools::new()
        .failure(RESTORE, "CHAIN_ADD failed (File exists): chain\n")
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .success(RESTORE, "");
    by(&tools, &owner(), None).add(&cidrs(&["10.2.0.5/24", "10.1.0.6/24"])).unwrap();
    tools.assert_done();
    let comment = r#"-m comment --comment "name: \"n1\" id: \"c1\"""#;
    assert_eq!(
        tools.stdins()[2],
        format!(
            "*nat\n-I {CHAIN} -d 10.2.0.0/24 {comment} -j ACCEPT\n-A POSTROUTING -s 10.2.0.5/32 {comment} -j {CHAIN}\n\
             -A POSTROUTING -s 10.1.0.6/32 {comment} -j {CHAIN}\nCOMMIT\n"
        ),
        "the exception must come before what it is from"
    );
}

#[test]
fn when_the_second_family_fails_the_first_is_undone() {
    let tools = ScriptedTools::new()
        .success(RESTORE, "")
        .failure(RESTORE6, "no ip6 nat\n")
        .success(SAVE6, NOTHING)
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .success(RESTORE, "");
    let error = by(&tools, &owner(), Some(Backend::Iptables)).add(&cidrs(&["10.1.0.5/24", "fd00::5/64"]));
    let error = error.unwrap_err().to_object();
    assert!(error.msg.starts_with("failed to set up masquerade by iptables: "), "{error}");
    assert!(error.msg.contains("no ip6 nat"), "{error}");
    tools.assert_done();
    assert!(tools.stdins()[4].ends_with(&format!(":{CHAIN} - [0:0]\n-X {CHAIN}\nCOMMIT\n")));
}

#[test]
fn without_a_backend_nft_is_used_where_iptables_does_not_work() {
    let probe = "iptables --wait=60 --table nat --list-rules POSTROUTING";
    let tools = ScriptedTools::new()
        .missing("iptables-restore")
        .missing("iptables")
        .success("nft list tables", "")
        .success(NFT, "");
    by(&tools, &owner(), None).add(&cidrs(&["10.1.0.5/24"])).unwrap();
    tools.assert_done();
    // Where it works, its own error counts.
    let tools =
        ScriptedTools::new().failure(RESTORE, "no MASQUERADE\n").success(SAVE, NOTHING).success(probe, "");
    let error = by(&tools, &owner(), None).add(&cidrs(&["10.1.0.5/24"])).unwrap_err().to_object();
    assert!(error.msg.contains("no MASQUERADE"), "{error}");
    tools.assert_done();
}

#[test]
fn nft_rules_are_gos_and_the_table_is_left_alone_once_it_is_there() {
    let rule = format!(
        "add rule inet cni_plugins_masquerade masq_checks ip saddr == 10.1.0.5 ip daddr != 10.1.0.0/24 masquerade comment \"{}\"\n\
         add rule inet cni_plugins_masquerade masq_checks ip6 saddr == fd00::5 ip6 daddr != fd00::/64 masquerade comment \"{}\"\n",
        owner().label(),
        owner().label()
    );
    let addresses = cidrs(&["10.1.0.5/24", "fd00::5/64"]);
    let tools = ScriptedTools::new().success(NFT, "");
    by(&tools, &owner(), Some(Backend::Nftables)).add(&addresses).unwrap();
    assert_eq!(tools.stdins()[0], rule);

    let tools = ScriptedTools::new().failure(NFT, NO_TABLE).success(NFT, "");
    by(&tools, &owner(), Some(Backend::Nftables)).add(&addresses).unwrap();
    let script = &tools.stdins()[1];
    let (base, rules) = script.split_at(script.len() - rule.len());
    assert_eq!(rules, rule);
    assert_eq!(
        base,
        "add table inet cni_plugins_masquerade\n\
         add chain inet cni_plugins_masquerade masq_checks\n\
         add chain inet cni_plugins_masquerade postrouting { type nat hook postrouting priority 100 ; }\n\
         flush chain inet cni_plugins_masquerade postrouting\n\
         add rule inet cni_plugins_masquerade postrouting ip daddr == 224.0.0.0/4 return\n\
         add rule inet cni_plugins_masquerade postrouting ip6 daddr == ff00::/8 return\n\
         add rule inet cni_plugins_masquerade postrouting goto masq_checks\n"
    );
}

#[test]
fn both_backends_are_searched_and_only_what_is_there_is_deleted() {
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .success(RESTORE, "")
        .failure(NFT_LIST, NO_TABLE);
    by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap();
    tools.assert_done();
    assert_eq!(
        tools.stdins()[1],
        format!(
            "*nat\n-D POSTROUTING -s 10.1.0.5/32 -m comment --comment \"name: \\\"n1\\\" id: \\\"c1\\\"\" -j {CHAIN}\n\
             :{CHAIN} - [0:0]\n-X {CHAIN}\nCOMMIT\n"
        )
    );
    let other = Owner::new("n1", "c1", "net1").label();
    let listing =
        listed(&[(7, owner().label()), (8, other), (9, "a person's".into()), (10, owner().label())]);
    let tools = ScriptedTools::new().success(SAVE, NOTHING).success(NFT_LIST, &listing).success(NFT, "");
    by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap();
    tools.assert_done();
    assert_eq!(
        tools.stdins()[2],
        "delete rule inet cni_plugins_masquerade masq_checks handle 7\ndelete rule inet cni_plugins_masquerade masq_checks handle 10\n"
    );
}

#[test]
fn the_chain_stays_for_the_containers_other_interface() {
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32", "10.1.0.6/32"]))
        .success(RESTORE, "")
        .failure(NFT_LIST, NO_TABLE);
    by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap();
    assert!(tools.stdins()[1].contains("-s 10.1.0.5/32"));
    assert!(!tools.stdins()[1].contains("10.1.0.6") && !tools.stdins()[1].contains("-X"));
    // A repeated DEL no longer knows the address, and must not take what is alive.
    let alive = Known { addresses: None, alive: vec!["10.1.0.6".parse().unwrap()] };
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.6/32"]))
        .success(SAVE6, NOTHING)
        .failure(NFT_LIST, NO_TABLE);
    by(&tools, &owner(), None).remove(&alive).unwrap();
    tools.assert_done();
}

#[test]
fn without_addresses_everything_of_the_container_goes_in_both_families() {
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32", "10.1.0.0/24"]))
        .success(RESTORE, "")
        .success(SAVE6, NOTHING)
        .failure(NFT_LIST, NO_TABLE);
    by(&tools, &owner(), None).remove(&Known::default()).unwrap();
    tools.assert_done();
    let script = &tools.stdins()[1];
    assert!(script.contains("-s 10.1.0.5/32") && script.contains("-s 10.1.0.0/24") && script.contains("-X"));
    assert!(!script.contains("10.9.0.9"), "{script}");
}

#[test]
fn a_backend_that_is_not_used_may_fail_or_be_missing() {
    let broken = || ScriptedTools::new().failure(SAVE, "table `nat' is incompatible, use 'nft' tool.\n");
    let listing = listed(&[(7, owner().label())]);
    let tools = broken().success(NFT_LIST, &listing).success(NFT, "");
    by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap();
    let tools = broken().failure(NFT_LIST, NO_TABLE);
    by(&tools, &owner(), Some(Backend::Nftables)).remove(&known(&["10.1.0.5"])).unwrap();
    // Where nothing was found, the rules may be where nobody could look.
    let tools = broken().failure(NFT_LIST, NO_TABLE);
    let error = by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap_err().to_object();
    assert!(error.msg.starts_with("failed to tear down masquerade by iptables: "), "{error}");
    for backend in [None, Some(Backend::Iptables), Some(Backend::Nftables)] {
        let tools = ScriptedTools::new().missing("iptables-save").missing("nft");
        by(&tools, &owner(), backend).remove(&known(&["10.1.0.5"])).unwrap();
    }
}

#[test]
fn check_finds_every_rule_that_is_missing() {
    let addresses = cidrs(&["10.1.0.5/24"]);
    let complete = saved(&["10.1.0.5/32"]);
    let check = |text: &str| {
        let tools = ScriptedTools::new().success(SAVE, text);
        by(&tools, &owner(), Some(Backend::Iptables)).check(&addresses)
    };
    check(&complete).unwrap();
    for lost in ["-j ACCEPT", "-j MASQUERADE", "-s 10.1.0.5/32"] {
        let text: String = complete.split_inclusive('\n').filter(|line| !line.contains(lost)).collect();
        let error = check(&text).unwrap_err().to_object();
        assert!(error.msg.contains(lost) && error.msg.contains("not found in chain"), "{error}");
    }

    let check = |listing: &str, addresses: &[&str]| {
        let tools = ScriptedTools::new().success(NFT_LIST, listing);
        by(&tools, &owner(), Some(Backend::Nftables)).check(&cidrs(addresses))
    };
    let listing = listed(&[(7, owner().label())]);
    check(&listing, &["10.1.0.5/24"]).unwrap();
    for other in ["10.1.0.6/24", "10.1.0.5/16", "fd00::5/64"] {
        let error = check(&listing, &[other]).unwrap_err().to_object();
        assert!(error.msg.contains(&format!("masquerade rule for {other} not found")), "{error}");
    }
    let error = check(&listing.replace("goto", "jump"), &["10.1.0.5/24"]).unwrap_err().to_object();
    assert!(error.msg.contains("goto masq_checks"), "{error}");
    let error = check(&listed(&[(7, Owner::new("n1", "c2", "eth0").label())]), &["10.1.0.5/24"]);
    assert!(error.is_err(), "another container's rule");
}

#[test]
fn check_takes_whichever_backend_has_the_rules() {
    let tools =
        ScriptedTools::new().success(SAVE, NOTHING).success(NFT_LIST, &listed(&[(7, owner().label())]));
    by(&tools, &owner(), None).check(&cidrs(&["10.1.0.5/24"])).unwrap();
    tools.assert_done();
    let tools = ScriptedTools::new().success(SAVE, NOTHING).failure(NFT_LIST, NO_TABLE);
    let error = by(&tools, &owner(), None).check(&cidrs(&["10.1.0.5/24"])).unwrap_err().to_object();
    assert!(error.msg.contains("table nat"), "{error}");
}

#[test]
fn gc_removes_what_is_of_the_network_and_of_no_valid_attachment() {
    let stale = "CNI-0123456789abcdef01234567";
    let text = saved(&["10.1.0.5/32"]).replace(
        "COMMIT",
        &format!(
            "-A POSTROUTING -s 10.8.0.8/32 -m comment --comment \"name: \\\"n2\\\" id: \\\"c8\\\"\" -j {stale}\nCOMMIT"
        ),
    );
    let text = text.replace(":CNI-0000", &format!(":{stale} - [0:0]\n:CNI-0000"));
    let labels =
        [("n1", "c1"), ("n1", "c9"), ("n2", "c8")].map(|(net, id)| Owner::new(net, id, "eth0").label());
    let listing = listed(&(1..).zip(labels).collect::<Vec<_>>());
    let tools = ScriptedTools::new()
        .success(SAVE, &text)
        .success(RESTORE, "")
        .success(SAVE6, NOTHING)
        .success(NFT_LIST, &listing)
        .success(NFT, "");
    collect(&tools, "n1", &[Attachment::new("c1", "eth0")], true).unwrap();
    tools.assert_done();
    let comment = r#"-m comment --comment "name: \"n1\" id: \"c9\"""#;
    let gone = "CNI-000000000000000000000000";
    assert_eq!(
        tools.stdins()[1],
        format!(
            "*nat\n-D POSTROUTING -s 10.9.0.9/32 {comment} -j {gone}\n:{gone} - [0:0]\n-X {gone}\nCOMMIT\n"
        )
    );
    assert_eq!(tools.stdins()[4], "delete rule inet cni_plugins_masquerade masq_checks handle 2\n");
}

#[test]
fn gc_finds_chains_that_nothing_leads_to() {
    let text = saved(&[]).replace(":POSTROUTING", ":CNI-DN-0123456789abcdef01234 - [0:0]\n:POSTROUTING");
    // A host without IPv6, and without nft.
    let tools = ScriptedTools::new()
        .success(SAVE, &text)
        .success(RESTORE, "")
        .failure(SAVE6, "Table does not exist\n")
        .missing("nft");
    collect(&tools, "n1", &[], true).unwrap();
    tools.assert_done();
    assert!(tools.stdins()[1].contains(&format!(":{CHAIN} - [0:0]\n-X {CHAIN}\n")));
    assert!(!tools.stdins()[1].contains("CNI-DN-"));
}

#[test]
fn gc_goes_past_errors_and_without_programs_there_is_nothing() {
    let tools = ScriptedTools::new()
        .failure(SAVE, "Operation not permitted\n")
        .missing("ip6tables-save")
        .success(NFT_LIST, &listed(&[(7, owner().label())]))
        .success(NFT, "");
    let error = collect(&tools, "n1", &[], true).unwrap_err().to_object();
    assert!(error.msg.starts_with("failed to collect masquerade rules"), "{error}");
    assert!(error.to_string().contains("failed to run iptables-save"), "{error}");
    tools.assert_done();
    let tools = ScriptedTools::new().missing("iptables-save").missing("ip6tables-save").missing("nft");
    collect(&tools, "n1", &[], true).unwrap();
}

#[test]
fn gc_looks_in_vain_where_nobody_asks_for_masquerade() {
    let tools = ScriptedTools::new()
        .failure(SAVE, "Operation not permitted\n")
        .missing("ip6tables-save")
        .success(NFT_LIST, &listed(&[(7, owner().label())]))
        .success(NFT, "");
    collect(&tools, "n1", &[], false).unwrap();
    tools.assert_done();
}

#[test]
fn a_host_without_ipv6_lets_a_container_go_whose_addresses_nobody_knows() {
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .success(RESTORE, "")
        .failure(SAVE6, "Table does not exist\n")
        .failure(NFT_LIST, NO_TABLE);
    by(&tools, &owner(), Some(Backend::Iptables)).remove(&Known::default()).unwrap();
    tools.assert_done();
    // If it had IPv6 addresses, their rules must not be forgotten.
    let tools = ScriptedTools::new()
        .success(SAVE, NOTHING)
        .failure(SAVE6, "Table does not exist\n")
        .failure(NFT_LIST, NO_TABLE);
    let known = known(&["10.1.0.5", "fd00::5"]);
    assert!(by(&tools, &owner(), Some(Backend::Iptables)).remove(&known).is_err());
}

#[test]
fn what_somebody_else_has_removed_meanwhile_is_looked_at_again() {
    const GONE: &str = "iptables-restore: line 2 failed: No chain/target/match by that name.\n";
    let others = &saved(&[]).replace(&format!(":{CHAIN} - [0:0]\n"), "");
    let others: String =
        others.split_inclusive('\n').filter(|line| !line.starts_with(&format!("-A {CHAIN}"))).collect();
    // DEL beside GC: by the second look all is gone.
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .failure(RESTORE, GONE)
        .success(SAVE, &others)
        .success(NFT_LIST, &listed(&[(7, owner().label())]))
        .failure(NFT, NO_TABLE)
        .success(NFT_LIST, &listed(&[]));
    by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap();
    tools.assert_done();
    // GC beside DEL: what is left is another's.
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .failure(RESTORE, GONE)
        .success(SAVE, &others)
        .success(RESTORE, "")
        .success(SAVE6, NOTHING)
        .success(NFT_LIST, &listed(&[(7, owner().label()), (9, Owner::new("n1", "c9", "eth0").label())]))
        .failure(NFT, NO_TABLE)
        .success(NFT_LIST, &listed(&[(9, Owner::new("n1", "c9", "eth0").label())]))
        .success(NFT, "");
    collect(&tools, "n1", &[], true).unwrap();
    tools.assert_done();
    assert!(!tools.stdins()[3].contains(CHAIN), "{}", tools.stdins()[3]);
    assert_eq!(tools.stdins()[8], "delete rule inet cni_plugins_masquerade masq_checks handle 9\n");
    // ADD of a second interface beside DEL of the first, which takes the chain along.
    let tools = ScriptedTools::new()
        .failure(RESTORE, "CHAIN_ADD failed (File exists): chain\n")
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .failure(RESTORE, GONE)
        .success(SAVE, &others)
        .success(RESTORE, "");
    by(&tools, &owner(), None).add(&cidrs(&["10.1.0.6/24"])).unwrap();
    tools.assert_done();
    assert_eq!(tools.stdins()[4], tools.stdins()[0]);
}

#[test]
fn a_change_that_is_refused_for_itself_is_told() {
    let tools = ScriptedTools::new()
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .failure(RESTORE, "Device or resource busy\n")
        .success(SAVE, &saved(&["10.1.0.5/32"]))
        .failure(NFT_LIST, NO_TABLE);
    let error = by(&tools, &owner(), None).remove(&known(&["10.1.0.5"])).unwrap_err().to_object();
    assert!(error.msg.contains("Device or resource busy"), "{error}");
    tools.assert_done();
}
