#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use std::path::PathBuf;

use plugin_support::testing::ScriptedTools;
use serde_json::json;

use super::*;
use crate::config::{Config, Settings};

const SAVE: &str = "iptables-save --table nat";
const SAVE6: &str = "ip6tables-save --table nat";
const RESTORE: &str = "iptables-restore --noflush --wait=60";
const RESTORE6: &str = "ip6tables-restore --noflush --wait=60";

/// What a kernel has that nobody has touched.
const EMPTY: &str = "*nat\n:PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n";

/// What `iptables-save` shows after an ADD by Debian's portmap 1.1.1 of [`usual`].
const BY_GO: &str = include_str!("../../tests/golden/go-1.1.1.iptables-save");
const BY_GO6: &str = include_str!("../../tests/golden/go-1.1.1.ip6tables-save");

fn owner(container_id: &str) -> Owner {
    Owner { network: "br".into(), container_id: container_id.into(), ifname: "eth0".into() }
}

fn forwardings(keys: serde_json::Value, addresses: &[&str]) -> Vec<Forwarding> {
    let config: Config = serde_json::from_value(keys.clone()).unwrap();
    let request = cni_skel::types::config::PluginConfig::decode(keys.to_string().as_bytes()).unwrap();
    let addresses: Vec<_> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Forwarding::all(&Settings::new(&config, &request).unwrap(), &addresses)
}

/// Both families, two protocols, and one address of the host.
fn usual() -> serde_json::Value {
    json!([
        {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
        {"hostPort": 8081, "containerPort": 81, "protocol": "udp"},
        {"hostPort": 8082, "containerPort": 82, "protocol": "tcp", "hostIP": "10.2.0.1"},
    ])
}

fn both(mut keys: serde_json::Value) -> Vec<Forwarding> {
    keys["runtimeConfig"] = json!({"portMappings": usual()});
    forwardings(keys, &["10.2.0.2/24", "fd00::2/64"])
}

fn nothing_against_it(_: &[Claim]) -> Result<()> {
    Ok(())
}

/// What ADD changes of a table.
fn added(saved: &str, owner: &Owner, forwarding: &Forwarding, others: &[IpAddr]) -> String {
    let (save, restore) = match forwarding.family {
        Family::V4 => (SAVE, RESTORE),
        Family::V6 => (SAVE6, RESTORE6),
    };
    let tools = ScriptedTools::new().success(save, saved).success(restore, "");
    add(&tools, owner, forwarding, others, nothing_against_it).unwrap();
    tools.assert_done();
    tools.stdins()[1].clone()
}

/// What a removal changes of a table, and the ports that it tells.
fn removed(saved: &str, removals: &[Removal]) -> (String, Vec<u16>) {
    let tools = ScriptedTools::new().success(SAVE, saved).success(RESTORE, "");
    let ports = remove(&tools, Family::V4, removals).unwrap();
    tools.assert_done();
    (tools.stdins()[1].clone(), ports)
}

fn of(container_id: &str) -> Removal {
    Removal {
        network: "br".into(),
        container_id: container_id.into(),
        addresses: None,
        others: Vec::new(),
        has_unknown: false,
    }
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

#[test]
fn c71_the_first_add_makes_everything_in_one_transaction() {
    let [v4, v6] = &both(json!({}))[..] else { panic!() };
    assert_golden("iptables-first-v4", &added(EMPTY, &owner("cid1"), v4, &[]));
    assert_golden("iptables-first-v6", &added(EMPTY, &owner("cid1"), v6, &[]));
}

#[test]
fn every_setting_is_in_the_rules() {
    let [v4, v6] =
        &both(json!({"masqAll": true, "markMasqBit": 31, "conditionsV4": ["!", "-s", "192.0.2.0/24"]}))[..]
    else {
        panic!()
    };
    assert_golden("iptables-masq-all-v4", &added(EMPTY, &owner("cid1"), v4, &[]));
    assert_golden("iptables-masq-all-v6", &added(EMPTY, &owner("cid1"), v6, &[]));
    let [v4, _] = &both(json!({"externalSetMarkChain": "KUBE-MARK-MASQ"}))[..] else { panic!() };
    assert_golden("iptables-external-mark", &added(EMPTY, &owner("cid1"), v4, &[]));
    let [v4, _] = &both(json!({"snat": false}))[..] else { panic!() };
    assert_golden("iptables-no-snat", &added(EMPTY, &owner("cid1"), v4, &[]));
}

#[test]
fn a_second_container_adds_its_own_rules_alone() {
    let mapping = json!({"runtimeConfig": {"portMappings": [{"hostPort": 9090, "containerPort": 90}]}});
    let forwarding = &forwardings(mapping, &["10.2.0.3/24"])[0];
    let script = added(BY_GO, &owner("cid2"), forwarding, &[]);
    assert_golden("iptables-second-container", &script);
    assert!(!script.contains("PREROUTING") && !script.contains("-N CNI-HOSTPORT"), "{script}");
}

#[test]
fn a_repeated_add_does_not_add_up() {
    // Go appends to a chain that is there, and leaves what leads to an address of the past.
    let [v4, _] = &both(json!({}))[..] else { panic!() };
    assert_golden("iptables-repeated", &added(BY_GO, &owner("cid1"), v4, &[]));
}

#[test]
fn sixteen_ports_take_two_entries() {
    let mappings: Vec<_> = (1..=16).map(|n| json!({"hostPort": 8000 + n, "containerPort": n})).collect();
    let forwarding = &forwardings(json!({"runtimeConfig": {"portMappings": mappings}}), &["10.2.0.2/24"])[0];
    let entries = words::entries(&owner("cid1"), forwarding);
    let ports: Vec<_> = entries.iter().map(|entry| &entry[9]).collect();
    assert_eq!(ports, ["8001,8002,8003,8004,8005,8006,8007,8008,8009,8010,8011,8012,8013,8014,8015", "8016"]);
}

#[test]
fn c75_a_chain_that_appears_meanwhile_is_kept() {
    let [v4, _] = &both(json!({}))[..] else { panic!() };
    let meanwhile =
        BY_GO.replace("cid1", "cid9").replace("CNI-DN-a639b378b178d07a2cef8", "CNI-DN-999999999999999999999");
    let tools = ScriptedTools::new()
        .success(SAVE, EMPTY)
        .failure(RESTORE, "iptables-restore: line 2 failed: Chain already exists.\n")
        .success(SAVE, &meanwhile)
        .success(RESTORE, "");
    add(&tools, &owner("cid1"), v4, &[], nothing_against_it).unwrap();
    tools.assert_done();
    let script = &tools.stdins()[3];
    assert!(!script.contains("CNI-HOSTPORT-DNAT - ") && !script.contains("-N CNI-HOSTPORT"), "{script}");
    assert!(script.contains("-N CNI-DN-a639b378b178d07a2cef8\n"), "{script}");
}

#[test]
fn a_refusal_of_the_same_table_is_final() {
    let [v4, _] = &both(json!({}))[..] else { panic!() };
    let refusal = "iptables-restore v1.8.9 (nf_tables): unknown option \"--nope\"\n";
    let tools = ScriptedTools::new().success(SAVE, EMPTY).failure(RESTORE, refusal).success(SAVE, EMPTY);
    let error = add(&tools, &owner("cid1"), v4, &[], nothing_against_it).unwrap_err();
    assert!(error.to_string().contains("unknown option \"--nope\""), "{error}");
    tools.assert_done();
}

#[test]
fn what_go_made_goes_and_its_udp_ports_are_told() {
    let (script, ports) = removed(BY_GO, &[of("cid1")]);
    assert_golden("iptables-del", &script);
    assert_eq!(ports, [8081]);
}

#[test]
fn nothing_to_remove_changes_nothing() {
    for saved in [EMPTY, BY_GO] {
        let tools = ScriptedTools::new().success(SAVE, saved);
        assert_eq!(remove(&tools, Family::V4, &[of("cid2")]).unwrap(), [0_u16; 0]);
        tools.assert_done();
    }
}

#[test]
fn what_releases_before_0_7_made_goes_as_well() {
    let saved = "*nat\n:POSTROUTING ACCEPT [0:0]\n:CNI-HOSTPORT-SNAT - [0:0]\n:CNI-SN-a639b378b178d07a2cef8 - [0:0]\n\
                 -A CNI-HOSTPORT-SNAT -m comment --comment \"snat name: \\\"br\\\" id: \\\"cid1\\\"\" -j CNI-SN-a639b378b178d07a2cef8\n\
                 -A CNI-SN-a639b378b178d07a2cef8 -s 127.0.0.1/32 -d 10.2.0.2/32 -p tcp -m tcp --dport 80 -j MASQUERADE\nCOMMIT\n";
    let (script, _) = removed(saved, &[of("cid1")]);
    assert_golden("iptables-del-old-snat", &script);
}

/// Two interfaces of one container in one network, as ours and Go's plugin make them.
fn two_interfaces() -> String {
    let chain = "CNI-DN-a639b378b178d07a2cef8";
    BY_GO.replace(
        "COMMIT\n",
        &format!(
            "-A {chain} -s 10.2.0.0/24 -p tcp -m tcp --dport 9090 -j CNI-HOSTPORT-SETMARK\n\
             -A {chain} -p tcp -m tcp --dport 9090 -j DNAT --to-destination 10.2.0.7:90\n\
             -A CNI-HOSTPORT-DNAT -p tcp -m comment --comment \"dnat name: \\\"br\\\" id: \\\"cid1\\\"\" -m multiport --dports 9090 -j {chain}\n\
             COMMIT\n"
        ),
    )
}

#[test]
fn another_interface_keeps_its_rules() {
    let other: IpAddr = "10.2.0.7".parse().unwrap();
    let (script, ports) = removed(&two_interfaces(), &[Removal { others: vec![other], ..of("cid1") }]);
    assert_golden("iptables-del-one-interface", &script);
    assert_eq!(ports, [8081]);

    let [v4, _] = &both(json!({}))[..] else { panic!() };
    assert_golden("iptables-add-beside", &added(&two_interfaces(), &owner("cid1"), v4, &[other]));
}

#[test]
fn gc_finds_the_dead_by_their_comments() {
    let tools = ScriptedTools::new().success(SAVE, BY_GO).success(RESTORE, "");
    let chain = names::dnat_chain("br", "cid1");
    assert_eq!(collect(&tools, Family::V4, "br", |valid| valid != chain, &[]).unwrap(), [8081]);
    assert_golden("iptables-del", &tools.stdins()[1]);

    for (network, valid) in [("br", true), ("other", false)] {
        let tools = ScriptedTools::new().success(SAVE, BY_GO);
        collect(&tools, Family::V4, network, |_| valid, &[]).unwrap();
        tools.assert_done();
    }
}

#[test]
fn gc_removes_nothing_twice() {
    let tools = ScriptedTools::new().success(SAVE, BY_GO).success(RESTORE, "");
    collect(&tools, Family::V4, "br", |_| false, &[of("cid1")]).unwrap();
    assert_golden("iptables-del", &tools.stdins()[1]);
}

#[test]
fn gc_of_many_takes_of_each_what_is_its_own_in_order() {
    // So many that whoever compares each with each is not done for minutes.
    const CONTAINERS: usize = 10_000;
    let id = |number: usize| format!("c{number}");
    let chain = |number| names::dnat_chain("br", &id(number));
    let entry = |number: usize, protocol: &str| {
        let comment = format!(r#"dnat name: \"br\" id: \"{}\""#, id(number));
        let matched =
            format!("-p {protocol} -m comment --comment \"{comment}\" -m multiport --dports {number}");
        format!("CNI-HOSTPORT-DNAT {matched} -j {}", chain(number))
    };
    let (mut chains, mut entries, mut rules) = (String::new(), String::new(), String::new());
    for number in 0..CONTAINERS {
        chains.push_str(&format!(":{} - [0:0]\n", chain(number)));
        for protocol in ["tcp", "udp"] {
            let matched = format!("-p {protocol} -m {protocol} --dport {number}");
            entries.push_str(&format!("-A {}\n", entry(number, protocol)));
            rules.push_str(&format!("-A {} {matched} -j DNAT --to-destination 10.2.0.2:80\n", chain(number)));
        }
    }
    let saved = format!("*nat\n:CNI-HOSTPORT-DNAT - [0:0]\n{chains}{entries}{rules}COMMIT\n");
    // By threes: one is removed, one found by its comment, one valid.
    let removals: Vec<_> = (0..CONTAINERS).step_by(3).map(|number| of(&id(number))).collect();
    let valid: HashSet<_> = (2..CONTAINERS).step_by(3).map(chain).collect();
    let tools = ScriptedTools::new().success(SAVE, &saved).success(RESTORE, "");
    let ports = collect(&tools, Family::V4, "br", |chain| valid.contains(chain), &removals).unwrap();
    let gone: Vec<_> = (0..CONTAINERS).step_by(3).chain((1..CONTAINERS).step_by(3)).collect();
    let mut expected = String::from("*nat\n");
    for &number in &gone {
        let ([tcp, udp], chain) = (["tcp", "udp"].map(|protocol| entry(number, protocol)), chain(number));
        expected.push_str(&format!(":{chain} - [0:0]\n-D {tcp}\n-D {udp}\n-X {chain}\n"));
    }
    expected.push_str("COMMIT\n");
    // Not by `assert_eq`: nobody reads so much.
    let script = &tools.stdins()[1];
    let differs = script.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(*script == expected, "{differs:?}");
    assert_eq!(ports.into_iter().map(usize::from).collect::<Vec<_>>(), gone);
}

#[test]
fn claims_are_those_of_other_containers() {
    let claims_seen = |container_id| {
        let tools = ScriptedTools::new().success(SAVE, BY_GO);
        let table = Iptables::new(&tools, Family::V4).table(NAT).unwrap();
        seen::claims(&table, &owner(container_id))
    };
    assert_eq!(claims_seen("cid1"), []);
    let claims: Vec<_> = claims_seen("cid2").iter().map(|claim| claim.dnat.to_string()).collect();
    assert_eq!(
        claims,
        ["tcp port 8080 to 10.2.0.2:80", "tcp 10.2.0.1:8082 to 10.2.0.2:82", "udp port 8081 to 10.2.0.2:81"]
    );
    let claim = &claims_seen("cid2")[0];
    assert_eq!(
        (claim.container_id.as_str(), claim.network.as_deref(), claim.conditional),
        ("cid1", Some("br"), false)
    );
}

#[test]
fn conditions_are_seen() {
    let saved =
        BY_GO.replace("-m multiport --dports 8080,8082", "! -s 192.0.2.0/24 -m multiport --dports 8080,8082");
    let tools = ScriptedTools::new().success(SAVE, &saved);
    let table = Iptables::new(&tools, Family::V4).table(NAT).unwrap();
    let conditional: Vec<_> =
        seen::claims(&table, &owner("cid2")).iter().map(|claim| claim.conditional).collect();
    assert_eq!(conditional, [true, true, false]);
}

#[test]
fn c74_check_looks_at_every_rule() {
    let [v4, v6] = &both(json!({}))[..] else { panic!() };
    let tools = ScriptedTools::new().success(RESTORE, "").success(RESTORE6, "");
    check(&tools, &owner("cid1"), v4).unwrap();
    check(&tools, &owner("cid1"), v6).unwrap();
    assert_golden("iptables-check-v4", &tools.stdins()[0]);
    assert_golden("iptables-check-v6", &tools.stdins()[1]);

    let gone = "iptables-restore: line 2 failed: No chain/target/match by that name.\n";
    let tools = ScriptedTools::new().failure(RESTORE, gone);
    let error = check(&tools, &owner("cid1"), v4).unwrap_err();
    assert!(error.to_string().contains("-C CNI-DN-a639b378b178d07a2cef8 -p tcp --dport 8080"), "{error}");
}

#[test]
fn what_go_made_is_seen_family_by_family() {
    let tools = ScriptedTools::new().success(SAVE6, BY_GO6);
    let table = Iptables::new(&tools, Family::V6).table(NAT).unwrap();
    let claims: Vec<_> =
        seen::claims(&table, &owner("cid2")).iter().map(|claim| claim.dnat.to_string()).collect();
    assert_eq!(claims, ["tcp port 8080 to [fd00::2]:80", "udp port 8081 to [fd00::2]:81"]);
}
