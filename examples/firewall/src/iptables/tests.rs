use plugin_support::testing::ScriptedTools;

use super::*;

const SAVE: &str = "iptables-save --table filter";
const RESTORE: &str = "iptables-restore --noflush --wait=60";

/// A table of Go's 1.1.1 with containers 10.2.0.2 and 10.2.0.9, kept apart from other bridges than `br0`.
const BY_GO: &str = r#"*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:CNI-ADMIN - [0:0]
:CNI-FORWARD - [0:0]
:CNI-ISOLATION-STAGE-1 - [0:0]
:CNI-ISOLATION-STAGE-2 - [0:0]
-A FORWARD -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j CNI-ISOLATION-STAGE-1
-A FORWARD -m comment --comment "CNI firewall plugin rules" -j CNI-FORWARD
-A CNI-FORWARD -m comment --comment "CNI firewall plugin admin overrides" -j CNI-ADMIN
-A CNI-FORWARD -d 10.2.0.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT
-A CNI-FORWARD -d 10.2.0.9/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A CNI-FORWARD -s 10.2.0.9/32 -j ACCEPT
-A CNI-ISOLATION-STAGE-1 -i br0 ! -o br0 -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j CNI-ISOLATION-STAGE-2
-A CNI-ISOLATION-STAGE-1 -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j RETURN
-A CNI-ISOLATION-STAGE-2 -o br0 -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j DROP
-A CNI-ISOLATION-STAGE-2 -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j RETURN
COMMIT
"#;

const EMPTY: &str = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n";

fn wanted(policy: IngressPolicy) -> Wanted {
    let isolation = (policy != IngressPolicy::Open).then(|| ("br0".to_owned(), policy));
    Wanted { admin_chain: Some("CNI-ADMIN".into()), addresses: vec!["10.2.0.2".parse().unwrap()], isolation }
}

/// What is done to a table that is like this.
fn added(table: &str, wanted: &Wanted) -> String {
    done(table, |tools| add(tools, wanted))
}

fn done(table: &str, act: impl Fn(&dyn Tools) -> Result<()>) -> String {
    let tools = ScriptedTools::new().success(SAVE, table).success(RESTORE, "");
    act(&tools).unwrap();
    tools.stdins().get(1).cloned().unwrap_or_default()
}

fn checked(table: &str, wanted: &Wanted) -> Result<()> {
    let tools = ScriptedTools::new().success(SAVE, table);
    let checked = check(&tools, wanted);
    tools.assert_done();
    checked
}

#[test]
fn what_gos_plugin_has_made_is_complete() {
    for policy in [IngressPolicy::Open, IngressPolicy::SameBridge] {
        assert_eq!(added(BY_GO, &wanted(policy)), "");
        checked(BY_GO, &wanted(policy)).unwrap();
    }
}

#[test]
fn everything_is_made_in_one_transaction() {
    assert_eq!(
        added(EMPTY, &wanted(IngressPolicy::Open)),
        r#"*filter
-N CNI-FORWARD
-N CNI-ADMIN
-I FORWARD -m comment --comment "CNI firewall plugin rules" -j CNI-FORWARD
-I CNI-FORWARD -m comment --comment "CNI firewall plugin admin overrides" -j CNI-ADMIN
-A CNI-FORWARD -d 10.2.0.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT
COMMIT
"#
    );
    let isolated = added(EMPTY, &wanted(IngressPolicy::Isolated));
    assert!(
        isolated.ends_with(
            r#"-N CNI-ISOLATION-STAGE-1
-N CNI-ISOLATION-STAGE-2
-A CNI-ISOLATION-STAGE-1 -m comment --comment "CNI firewall plugin rules (ingressPolicy: isolated)" -j RETURN
-I CNI-ISOLATION-STAGE-1 -i br0 ! -o br0 -m comment --comment "CNI firewall plugin rules (ingressPolicy: isolated)" -j CNI-ISOLATION-STAGE-2
-I CNI-ISOLATION-STAGE-1 -i br0 -o br0 -m comment --comment "CNI firewall plugin rules (ingressPolicy: isolated)" -j DROP
-A CNI-ISOLATION-STAGE-2 -m comment --comment "CNI firewall plugin rules (ingressPolicy: isolated)" -j RETURN
-I CNI-ISOLATION-STAGE-2 -o br0 -m comment --comment "CNI firewall plugin rules (ingressPolicy: isolated)" -j DROP
-I FORWARD -m comment --comment "CNI firewall plugin rules (ingressPolicy: isolated)" -j CNI-ISOLATION-STAGE-1
COMMIT
"#
        ),
        "{isolated}"
    );
}

#[test]
fn what_keeps_apart_comes_before_what_lets_through() {
    // The jump was lost, and would come first.
    let jump = "-A FORWARD -m comment --comment \"CNI firewall plugin rules\" -j CNI-FORWARD\n";
    let lost = added(&BY_GO.replace(jump, ""), &wanted(IngressPolicy::Open));
    assert_eq!(
        lost,
        r#"*filter
-I FORWARD -m comment --comment "CNI firewall plugin rules" -j CNI-FORWARD
-D FORWARD -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j CNI-ISOLATION-STAGE-1
-I FORWARD -m comment --comment "CNI firewall plugin rules (ingressPolicy: same-bridge)" -j CNI-ISOLATION-STAGE-1
COMMIT
"#
    );
    // As Go's plugin has left it then.
    let first = BY_GO.replace(jump, "").replacen("-A FORWARD", &format!("{jump}-A FORWARD"), 1);
    let moved = added(&first, &wanted(IngressPolicy::SameBridge));
    assert_eq!(moved.matches("-D FORWARD").count(), 1);
    assert_eq!(moved.matches("-I FORWARD").count(), 1);
    let error = checked(&first, &wanted(IngressPolicy::SameBridge)).unwrap_err();
    assert_eq!(error.to_object().msg, "CNI-FORWARD comes before CNI-ISOLATION-STAGE-1 in FORWARD");
}

#[test]
fn an_administrator_has_the_first_word() {
    let mine = Wanted { admin_chain: Some("MINE".into()), ..wanted(IngressPolicy::Open) };
    let change = added(BY_GO, &mine);
    assert!(change.contains("-N MINE\n-I CNI-FORWARD "), "{change}");
    let jump = "-A CNI-FORWARD -m comment --comment \"CNI firewall plugin admin overrides\" -j CNI-ADMIN\n";
    let at_the_end = BY_GO.replace(jump, "").replace("COMMIT", &format!("{jump}COMMIT"));
    let change = added(&at_the_end, &wanted(IngressPolicy::Open));
    assert_eq!(change.lines().count(), 4, "{change}");
    assert!(change.contains("-D CNI-FORWARD") && change.contains("-I CNI-FORWARD"), "{change}");
    let error = checked(&at_the_end, &wanted(IngressPolicy::Open)).unwrap_err();
    assert_eq!(error.to_object().msg, "rules of CNI-FORWARD come before the chain CNI-ADMIN");
    // Several of them are equals.
    let jumps = format!("{}{jump}", jump.replace("-j CNI-ADMIN", "-j MINE"));
    let both = BY_GO.replace(jump, &jumps).replace(":CNI-FORWARD", ":MINE - [0:0]\n:CNI-FORWARD");
    assert_eq!(added(&both, &wanted(IngressPolicy::Open)), "");
    assert_eq!(added(&both, &mine), "");
}

#[test]
fn check_misses_every_single_rule_and_chain() {
    let is_of_2 =
        |line: &&str| !line.contains("10.2.0.9") && (line.starts_with("-A") || line.starts_with(":CNI-"));
    let lines: Vec<_> = BY_GO.lines().filter(is_of_2).collect();
    assert_eq!(lines.len(), 13);
    for line in lines {
        // A chain goes with its rules, and those that lead there.
        let name = line.strip_prefix(':').and_then(|chain| chain.split(' ').next());
        let stays = |other: &&str| match name {
            None => *other != line,
            Some(name) => !other.split(' ').any(|word| word == name || word == format!(":{name}")),
        };
        let less: String = BY_GO.lines().filter(stays).map(|line| format!("{line}\n")).collect();
        let error = checked(&less, &wanted(IngressPolicy::SameBridge)).unwrap_err().to_object().msg;
        assert!(error.starts_with("expected ") && error.ends_with(" not found"), "{line}: {error}");
    }
    let msg = |address: &str| {
        let addresses = vec![address.parse().unwrap()];
        checked(BY_GO, &Wanted { addresses, ..wanted(IngressPolicy::Open) }).unwrap_err().to_object().msg
    };
    // Go's words.
    assert_eq!(
        msg("10.2.0.3"),
        "expected rule [-d 10.2.0.3/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT] not found"
    );
}

#[test]
fn a_removal_takes_all_of_an_address_and_no_more() {
    let removal = Removal {
        addresses: vec!["10.2.0.2".parse().unwrap(), "10.2.0.3".parse().unwrap()],
        ..Removal::default()
    };
    let twice = BY_GO.replace("COMMIT", "-A CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT\nCOMMIT");
    assert_eq!(
        done(&twice, |tools| remove_in(tools, Family::V4, &removal, &|_| false)),
        r#"*filter
-D CNI-FORWARD -d 10.2.0.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-D CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT
-D CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT
COMMIT
"#
    );
    assert_eq!(done(EMPTY, |tools| remove_in(tools, Family::V4, &removal, &|_| false)), "");
    // A rule of somebody else about the same address is another rule.
    let other = EMPTY
        .replace("COMMIT", ":CNI-FORWARD - [0:0]\n-A CNI-FORWARD -s 10.2.0.2/32 -p tcp -j ACCEPT\nCOMMIT");
    assert_eq!(done(&other, |tools| remove_in(tools, Family::V4, &removal, &|_| false)), "");
}

#[test]
fn isolation_goes_with_the_last_container_that_is_known_to_ask_for_it() {
    let [one, other] = ["10.2.0.2", "10.2.0.9"].map(|address| address.parse().unwrap());
    let over =
        |bridge: &str, policy| Removal { bridges: vec![(bridge.to_owned(), policy)], ..Removal::default() };
    let same_bridge = || Removal { addresses: vec![one], ..over("br0", IngressPolicy::SameBridge) };
    let change = |removal: &Removal, is_gone: bool| {
        done(BY_GO, |tools| remove_in(tools, Family::V4, removal, &|bridge| is_gone && bridge == "br0"))
    };
    // Nobody knows where the other one is.
    assert!(!change(&same_bridge(), false).contains("ISOLATION"));
    for (removal, is_gone) in
        [(same_bridge(), true), (Removal { kept: [other].into(), ..same_bridge() }, false)]
    {
        let change = change(&removal, is_gone);
        assert_eq!(change.matches("-D CNI-ISOLATION-STAGE-1 -i br0 ! -o br0").count(), 1, "{change}");
        assert_eq!(change.matches("-D CNI-ISOLATION-STAGE-2 -o br0").count(), 1, "{change}");
        assert_eq!(change.lines().count(), 6, "{change}");
    }
    for removal in [over("br1", IngressPolicy::SameBridge), over("br0", IngressPolicy::Isolated)] {
        assert_eq!(change(&removal, true), "");
    }
}

#[test]
fn rules_can_go_out_of_a_table_that_nftables_has_been_at() {
    let removal = Removal { addresses: vec!["10.2.0.2".parse().unwrap()], ..Removal::default() };
    let list = |chain: &str| format!("iptables --wait=60 --table filter --list-rules {chain}");
    let no_chain = "iptables: No chain/target/match by that name.\n";
    let rules = "-N CNI-FORWARD\n-A CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT\n";
    let tools = ScriptedTools::new()
        .success(SAVE, "# Table `filter' is incompatible, use 'nft' tool.\n")
        .success(&list(CNI_FORWARD), rules)
        .failure(&list(STAGE_1), no_chain)
        .failure(&list(STAGE_2), no_chain)
        .success(RESTORE, "");
    remove_in(&tools, Family::V4, &removal, &|_| false).unwrap();
    tools.assert_done();
    assert_eq!(tools.stdins()[4], "*filter\n-D CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT\nCOMMIT\n");
}

#[test]
fn who_was_slower_begins_again() {
    let tools = ScriptedTools::new()
        .success(SAVE, EMPTY)
        .failure(RESTORE, "iptables-restore: line 2 failed: Chain already exists.\n")
        .success(SAVE, &BY_GO.replace("10.2.0.2/", "10.2.0.7/"))
        .success(RESTORE, "");
    add(&tools, &wanted(IngressPolicy::Open)).unwrap();
    tools.assert_done();
    assert_eq!(tools.stdins()[3].lines().count(), 4, "only the address is missing by then");
}
