#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use cni_skel::testing::{Invocation, Outcome};
use plugin_support::netlink::{LinkKind, NewLink};
use plugin_support::testing::{FakeKernel, ScriptedTools};
use serde_json::{Value, json};

use super::*;

mod nftables;

const SAVE: &str = "iptables-save --table filter";
const NFT: &str = "nft -j list table inet cni_plugins_firewall";
const SAVE6: &str = "ip6tables-save --table filter";
const RESTORE: &str = "iptables-restore --noflush --wait=60";
const RESTORE6: &str = "ip6tables-restore --noflush --wait=60";
const OWNER: &str = "busctl --system call -- org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \
                     NameHasOwner s org.fedoraproject.FirewallD1";

/// A call of firewalld about an address.
fn zone(method: &str, address: &str) -> String {
    format!(
        "busctl --system call -- org.fedoraproject.FirewallD1 /org/fedoraproject/FirewallD1 \
         org.fedoraproject.FirewallD1.zone {method} ss trusted {address}"
    )
}

/// What `iptables-save` shows with these containers.
fn table(addresses: &[&str]) -> String {
    let rules = addresses.iter().map(|address| {
        format!(
            "-A CNI-FORWARD -d {address} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n\
             -A CNI-FORWARD -s {address} -j ACCEPT\n"
        )
    });
    format!(
        "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n:CNI-ADMIN - [0:0]\n\
         :CNI-FORWARD - [0:0]\n\
         -A FORWARD -m comment --comment \"CNI firewall plugin rules\" -j CNI-FORWARD\n\
         -A CNI-FORWARD -m comment --comment \"CNI firewall plugin admin overrides\" -j CNI-ADMIN\n{}COMMIT\n",
        rules.collect::<String>()
    )
}

const V4: &str = "10.2.0.2/32";
const V6: &str = "fd00::2/128";

fn prev_result(addresses: &[&str]) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": addresses.iter().map(|address| json!({"address": address, "interface": 1})).collect::<Vec<_>>(),
    })
}

/// A directory for records, a host with a bridge, and programs that follow a script.
struct Host {
    dir: tempfile::TempDir,
    kernel: FakeKernel,
}

impl Host {
    fn new() -> Self {
        let kernel = FakeKernel::new();
        let netlink = kernel.host().netlink().unwrap();
        netlink.create(&NewLink::new("br0", LinkKind::Bridge(Default::default()))).unwrap();
        Self { dir: tempfile::tempdir().unwrap(), kernel }
    }

    /// Makes a call whose programs follow this script, to its end, and gives what was on each one's stdin.
    fn call(&self, tools: ScriptedTools, invocation: Invocation) -> (Outcome, Vec<String>) {
        let tools = Rc::new(tools);
        let outcome = invocation.run(&Firewall::on(tools.clone(), Kernel::from(&self.kernel)));
        tools.assert_done();
        (outcome, tools.stdins())
    }

    /// A call that must succeed.
    fn good(&self, tools: ScriptedTools, invocation: Invocation) -> Vec<String> {
        let (outcome, stdins) = self.call(tools, invocation);
        outcome.assert_success();
        stdins
    }

    fn config(&self, keys: Value) -> Value {
        let mut config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "firewall", "dataDir": self.dir.path().join("d")});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    }

    fn add(&self, id: &str, addresses: &[&str]) -> Invocation {
        Invocation::add(id, "/run/netns/x", "eth0")
            .config(self.config(json!({"backend": "iptables"})))
            .prev_result(prev_result(addresses))
    }

    fn del(&self, id: &str) -> Invocation {
        Invocation::del(id, "eth0").config(self.config(json!({"backend": "iptables"})))
    }

    fn records(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.dir.path().join("d")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "lock").collect()
    }
}

fn new() -> ScriptedTools {
    ScriptedTools::new()
}

#[test]
fn add_reads_and_changes_each_family_once_and_passes_the_result_on() {
    let host = Host::new();
    let tools = new().success(SAVE, "").success(RESTORE, "").success(SAVE6, "").success(RESTORE6, "");
    let (outcome, stdins) = host.call(tools, host.add("c1", &["10.2.0.2/24", "fd00::2/64"]));
    outcome.assert_success();
    assert_eq!(outcome.json(), prev_result(&["10.2.0.2/24", "fd00::2/64"]));
    assert!(stdins[1].contains("-s 10.2.0.2/32 -j ACCEPT") && stdins[3].contains("-s fd00::2/128 -j ACCEPT"));
    assert_eq!(host.records(), ["c1:eth0.json"]);
    // All is there.
    let again = new().success(SAVE, &table(&[V4])).success(SAVE6, &table(&[V6]));
    host.good(again, host.add("c1", &["10.2.0.2/24", "fd00::2/64"]));
    // Nothing to let through.
    host.good(new(), host.add("c2", &[]));
}

#[test]
fn nothing_is_made_for_a_configuration_that_cannot_work() {
    let host = Host::new();
    for (keys, result, msg) in [
        (json!({"ingressPolicy": "x"}), Some(prev_result(&["10.2.0.2/24"])), "unknown ingress policy: \"x\""),
        (json!({"backend": "x"}), Some(prev_result(&["10.2.0.2/24"])), "unknown firewall backend \"x\""),
        (json!({}), None, "missing prevResult from earlier plugin"),
        (
            json!({"ingressPolicy": "isolated"}),
            Some(json!({"cniVersion": "1.1.0", "ips": [{"address": "10.2.0.2/24"}]})),
            "interface needs to be set for ingress policy \"isolated\", make sure to chain \"firewall\"",
        ),
    ] {
        let call = Invocation::add("c1", "/run/netns/x", "eth0").config(host.config(keys));
        let call = if let Some(result) = result { call.prev_result(result) } else { call };
        let (outcome, _) = host.call(new(), call);
        let error = outcome.assert_error(7);
        assert!(error.msg.starts_with(msg), "{error}");
        assert_eq!(host.records(), [""; 0]);
    }
}

#[test]
fn add_is_all_or_nothing() {
    let host = Host::new();
    let tools = new()
        .success(SAVE, &table(&[]))
        .success(RESTORE, "")
        .missing("ip6tables-save")
        .success(SAVE, &table(&[V4]))
        .success(RESTORE, "")
        .missing("ip6tables-save");
    let (outcome, stdins) = host.call(tools, host.add("c1", &["10.2.0.2/24", "fd00::2/64"]));
    assert!(outcome.assert_error(999).msg.contains("ip6tables-save"));
    assert!(stdins[4].contains("-D CNI-FORWARD -s 10.2.0.2/32"), "{stdins:?}");
    assert_eq!(host.records(), [""; 0]);
    // What cannot be undone is DEL's.
    let tools = new()
        .success(SAVE, &table(&[]))
        .failure(RESTORE, "no\n")
        .success(SAVE, &table(&[]))
        .failure(SAVE, "no\n");
    host.call(tools, host.add("c1", &["10.2.0.2/24"])).0.assert_error(999);
    assert_eq!(host.records(), ["c1:eth0.json"]);
}

#[test]
fn del_needs_no_result_and_works_twice() {
    let host = Host::new();
    // Never heard of it.
    host.good(new(), host.del("c1"));
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    let stdins = host.good(new().success(SAVE, &table(&[V4])).success(RESTORE, ""), host.del("c1"));
    assert!(stdins[1].contains("-D CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT"));
    assert_eq!(host.records(), [""; 0]);
    host.good(new(), host.del("c1"));
    // A container of Go's.
    let told = || host.del("c1").prev_result(prev_result(&["10.2.0.2/24"]));
    let stdins = host.good(new().success(SAVE, &table(&[V4])).success(RESTORE, ""), told());
    assert!(stdins[1].contains("-D CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT"));
    host.good(new().success(SAVE, &table(&[])), told());
    // Configurations may have changed for the worse.
    let bad =
        Invocation::del("c1", "eth0").config(host.config(json!({"backend": "x", "ingressPolicy": "x"})));
    let tools = new().missing("busctl").success(SAVE, "").missing("nft");
    host.good(tools, bad.prev_result(prev_result(&["10.2.0.2/24"])));
}

#[test]
fn del_tells_what_stays_and_not_what_cannot_be() {
    let host = Host::new();
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    let (outcome, _) = host.call(new().failure(SAVE, "Permission denied\n"), host.del("c1"));
    assert!(outcome.assert_error(999).msg.contains("Permission denied"));
    assert_eq!(host.records(), ["c1:eth0.json"]);
    host.good(new().missing("iptables-save"), host.del("c1"));
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn an_address_belongs_to_who_had_it_last() {
    let host = Host::new();
    let there = || new().success(SAVE, &table(&[V4]));
    host.good(there(), host.add("c1", &["10.2.0.2/24"]));
    host.good(there(), host.add("c2", &["10.2.0.2/24"]));
    // The first one is removed late.
    host.good(new(), host.del("c1").prev_result(prev_result(&["10.2.0.2/24"])));
    let stdins = host.good(there().success(RESTORE, ""), host.del("c2"));
    assert!(stdins[1].contains("-D CNI-FORWARD -s 10.2.0.2/32 -j ACCEPT"));
}

#[test]
fn a_repeated_add_with_another_address_replaces() {
    let host = Host::new();
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    let tools = new()
        .success(SAVE, &table(&[V4]))
        .success(RESTORE, "")
        .success(SAVE, &table(&[]))
        .success(RESTORE, "");
    let stdins = host.good(tools, host.add("c1", &["10.2.0.3/24"]));
    assert!(
        stdins[1].contains("-D CNI-FORWARD -s 10.2.0.2/32")
            && stdins[3].contains("-A CNI-FORWARD -s 10.2.0.3/32")
    );
}

#[test]
fn gc_removes_what_has_no_valid_attachment_in_one_go() {
    let host = Host::new();
    let three = table(&["10.2.0.2/32", "10.2.0.3/32", "10.2.0.4/32"]);
    for (id, address) in [("c1", "10.2.0.2/24"), ("c2", "10.2.0.3/24"), ("c3", "10.2.0.4/24")] {
        host.good(new().success(SAVE, &three), host.add(id, &[address]));
    }
    let other = host.config(json!({"name": "n2", "backend": "iptables"}));
    host.good(new().missing("nft"), Invocation::gc([]).config(other));
    let gc = || Invocation::gc([("c2", "eth0"), ("c3", "eth1")]).config(host.config(json!({})));
    let tools = new().success(SAVE, &three).success(RESTORE, "").failure(NFT, "Operation not supported\n");
    let stdins = host.good(tools, gc());
    assert_eq!(stdins[1].matches("-D CNI-FORWARD").count(), 4, "{}", stdins[1]);
    assert!(!stdins[1].contains("10.2.0.3"));
    assert_eq!(host.records(), ["c2:eth0.json"]);
    host.good(new().missing("nft"), gc());
}

#[test]
fn status_says_when_add_cannot_succeed() {
    let host = Host::new();
    let status = |keys: Value| Invocation::status().config(host.config(keys));
    std::fs::create_dir(host.dir.path().join("d")).unwrap();
    host.good(new().missing("busctl").success(SAVE, "").success(SAVE, ""), status(json!({})));
    host.good(new().success(OWNER, "b true\n"), status(json!({})));
    let nothing = || new().success(OWNER, "b false\n").missing("iptables-save");
    let (outcome, _) =
        host.call(nothing().missing("nft").missing("iptables-save").missing("nft"), status(json!({})));
    let msg = &outcome.assert_error(50).msg;
    assert!(msg.contains("iptables-save") && msg.contains("\"nft\""), "{msg}");
    // A chain that an administrator cannot have.
    let by_nft = |chain: &str| status(json!({"backend": "nftables", "iptablesAdminChainName": chain}));
    let works = || new().success("nft list tables", "");
    host.call(works(), by_nft("a b")).0.assert_error(7);
    let unexpected = "Error: syntax error, unexpected drop, expecting string\n";
    host.call(works().failure("nft --check -f -", unexpected), by_nft("drop")).0.assert_error(7);
    host.good(works().success("nft --check -f -", ""), by_nft("MINE"));
    let tables = || nothing().success("nft list tables", "");
    host.good(tables().success("nft list tables", ""), status(json!({})));
    let (outcome, _) = host.call(new().missing("nft"), status(json!({"backend": "nftables"})));
    assert!(outcome.assert_error(50).msg.contains("failed to find \"nft\""));
    let (outcome, _) = host.call(new().success(OWNER, "b false\n"), status(json!({"backend": "firewalld"})));
    assert!(outcome.assert_error(50).msg.contains("firewalld is not on the system bus"));
    let isolated = || status(json!({"backend": "firewalld", "ingressPolicy": "isolated"}));
    let without = || new().success(OWNER, "b true\n").missing("iptables-save");
    let (outcome, _) = host.call(without().missing("nft").missing("iptables-save"), isolated());
    outcome.assert_error(50);
    host.good(without().success("nft list tables", "").success("nft list tables", ""), isolated());
    std::fs::write(host.dir.path().join("file"), "").unwrap();
    let no_dir = status(json!({"backend": "iptables", "dataDir": host.dir.path().join("file")}));
    host.call(new().success(SAVE, ""), no_dir).0.assert_error(50);
}

#[test]
fn check_changes_nothing_and_looks_at_what_add_made() {
    let host = Host::new();
    let check = |keys: Value| {
        let call = Invocation::check("c1", "/run/netns/x", "eth0").config(host.config(keys));
        call.prev_result(prev_result(&["10.2.0.2/24"]))
    };
    // No program but this one is called.
    host.good(new().success(SAVE, &table(&[V4])), check(json!({"backend": "iptables"})));
    let (outcome, _) = host.call(new().success(SAVE, ""), check(json!({"backend": "iptables"})));
    assert_eq!(outcome.assert_error(999).msg, "expected chain CNI-FORWARD of table filter not found");
    assert_eq!(host.records(), [""; 0]);
    // By the record, whatever has begun to run since.
    host.good(new().success(SAVE, &table(&[V4])), host.add("c1", &["10.2.0.2/24"]));
    host.good(new().success(SAVE, &table(&[V4])), check(json!({})));
}

#[test]
fn firewalld_is_asked_where_it_runs() {
    let host = Host::new();
    let call = || {
        let call = Invocation::add("c1", "/run/netns/x", "eth0").config(host.config(json!({})));
        call.prev_result(prev_result(&["10.2.0.2/24", "fd00::2/64"]))
    };
    let tools = new()
        .success(OWNER, "b true\n")
        .success(&zone("addSource", V4), "s \"trusted\"\n")
        .failure(&zone("addSource", V6), "Call failed: ZONE_ALREADY_SET: 'fd00::2/128' already bound\n");
    host.good(tools, call());
    let check = || {
        let call = Invocation::check("c1", "/run/netns/x", "eth0").config(host.config(json!({})));
        call.prev_result(prev_result(&["10.2.0.2/24", "fd00::2/64"]))
    };
    let (v4, v6) = (zone("querySource", V4), zone("querySource", V6));
    host.good(new().success(&v4, "b true\n").success(&v6, "b true\n"), check());
    let (outcome, _) = host.call(new().success(&v4, "b true\n").success(&v6, "b false\n"), check());
    assert_eq!(outcome.assert_error(999).msg, "failed to find the address fd00::2/128 in trusted zone");
    // By the record: firewalld need not run any more.
    let tools = new()
        .failure(&zone("removeSource", V4), "Call failed: UNKNOWN_SOURCE: '10.2.0.2/32' is not in any zone\n")
        .failure(
            &zone("removeSource", V6),
            "Call failed: The name org.fedoraproject.FirewallD1 was not provided by any .service files\n",
        );
    host.good(tools, Invocation::del("c1", "eth0").config(host.config(json!({}))));
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn what_firewalld_refuses_is_told_and_undone() {
    let host = Host::new();
    let call = Invocation::add("c1", "/run/netns/x", "eth0")
        .config(host.config(json!({"backend": "firewalld"})))
        .prev_result(prev_result(&["10.2.0.2/24", "fd00::2/64"]));
    let tools = new()
        .success(&zone("addSource", V4), "")
        .failure(
            &zone("addSource", V6),
            "Call failed: ZONE_CONFLICT: 'fd00::2/128' already bound to a zone\n",
        )
        .success(&zone("removeSource", V4), "")
        .failure(&zone("removeSource", V6), "Call failed: UNKNOWN_SOURCE: 'fd00::2/128'\n");
    let (outcome, _) = host.call(tools, call);
    let error = outcome.assert_error(999);
    assert!(error.msg.contains("failed to add the address fd00::2/128 to trusted zone: "), "{error}");
    assert!(error.msg.contains("ZONE_CONFLICT"), "{error}");
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn beside_firewalld_iptables_keeps_apart_until_the_last_one_is_gone() {
    let host = Host::new();
    let keys = json!({"backend": "firewalld", "ingressPolicy": "same-bridge"});
    let add = || {
        let call = Invocation::add("c1", "/run/netns/x", "eth0").config(host.config(keys.clone()));
        call.prev_result(prev_result(&["10.2.0.2/24"]))
    };
    let rule = "-A CNI-ISOLATION-STAGE-2 -o br0 -m comment --comment \"CNI firewall plugin rules (ingressPolicy: \
                same-bridge)\" -j DROP";
    let isolated = format!("*filter\n:CNI-ISOLATION-STAGE-2 - [0:0]\n{rule}\nCOMMIT\n");
    let there = table(&[]);
    let adding = || {
        new().success(&zone("addSource", V4), "").success(SAVE, "").success(SAVE, &there).success(RESTORE, "")
    };
    let stdins = host.good(adding(), add());
    // firewalld lets through; iptables keeps apart.
    assert!(stdins[3].contains("-I CNI-ISOLATION-STAGE-2 -o br0") && !stdins[3].contains("10.2.0.2"));
    let del = || Invocation::del("c1", "eth0").config(host.config(keys.clone()));
    let tools = new()
        .success(&zone("removeSource", V4), "")
        .success(SAVE, &isolated)
        .success(RESTORE, "")
        .success(SAVE6, "")
        .missing("nft");
    let stdins = host.good(tools, del());
    assert!(stdins[2].contains("-D CNI-ISOLATION-STAGE-2 -o br0"), "{}", stdins[2]);
}
