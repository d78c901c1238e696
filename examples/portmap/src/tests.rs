#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use std::path::Path;

use cni_skel::testing::{Invocation, Outcome};
use plugin_support::netlink::{LinkKind, NewAddress, NewLink};
use plugin_support::testing::{FakeKernel, ScriptedTools};
use serde_json::{Value, json};

use super::*;

mod check;

const SAVE: &str = "iptables-save --table nat";
const SAVE6: &str = "ip6tables-save --table nat";
const RESTORE: &str = "iptables-restore --noflush --wait=60";
const RESTORE6: &str = "ip6tables-restore --noflush --wait=60";
const LIST: &str = "nft -j -t list table ip cni_hostport";
const LIST6: &str = "nft -j -t list table ip6 cni_hostport";
const RUN: &str = "nft -f -";
const NO_TABLE: &str = "Error: No such file or directory\n";
/// What Go's plugin made for `cid1` in network `br`.
const BY_GO: &str = include_str!("../tests/golden/go-1.1.1.iptables-save");

/// A host with a bridge, a directory for records, and programs that follow a script.
struct Host {
    dir: tempfile::TempDir,
    kernel: FakeKernel,
    tools: Rc<ScriptedTools>,
}

impl Host {
    fn new() -> Self {
        let kernel = FakeKernel::new();
        let netlink = kernel.host().netlink().unwrap();
        netlink.create(&NewLink::new("br0", LinkKind::Bridge(Default::default())).up()).unwrap();
        let address: ipnetwork::IpNetwork = "10.2.0.1/24".parse().unwrap();
        netlink.add_address(&netlink.link("br0").unwrap(), &NewAddress::new(address)).unwrap();
        Self { dir: tempfile::tempdir().unwrap(), kernel, tools: Rc::new(ScriptedTools::new()) }
    }

    /// Makes a call whose programs follow this script, to its end.
    fn call(&mut self, tools: ScriptedTools, invocation: Invocation) -> Outcome {
        self.tools = Rc::new(tools);
        let outcome = invocation.run(&Portmap::on(self.tools.clone(), Kernel::from(&self.kernel)));
        self.tools.assert_done();
        outcome
    }

    fn config(&self) -> Value {
        json!({"cniVersion": "1.1.0", "name": "br", "type": "portmap", "dataDir": self.dir.path()})
    }

    fn config_with(&self, keys: Value) -> Value {
        let mut config = self.config();
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    }

    fn add(&self, container_id: &str) -> Invocation {
        Invocation::add(container_id, "/run/netns/x", "eth0").config(self.config()).prev_result(prev_result())
    }

    fn del(&self, container_id: &str) -> Invocation {
        Invocation::del(container_id, "eth0").config(self.config())
    }

    fn records(&self) -> Vec<String> {
        names_in(self.dir.path())
    }

    fn route_localnet(&self) -> String {
        self.kernel.host().sysctl().read("net/ipv4/conf/br0/route_localnet").unwrap()
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

fn prev_result() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": [{"interface": 1, "address": "10.2.0.2/24"}],
        "vendor.example/note": 7,
    })
}

fn tcp() -> Value {
    json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}])
}

fn udp() -> Value {
    json!([{"hostPort": 8125, "containerPort": 8125, "protocol": "udp"}])
}

/// The calls of an ADD that finds this table.
fn adding(saved: &str) -> ScriptedTools {
    ScriptedTools::new().success(SAVE, saved).success(SAVE, saved).success(RESTORE, "")
}

#[test]
fn add_makes_rules_and_passes_the_result_on() {
    let mut host = Host::new();
    let outcome = host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp()));
    outcome.assert_success();
    let mut expected = prev_result();
    expected["dns"] = outcome.json()["dns"].clone();
    expected.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(outcome.json(), expected, "unknown keys included");
    assert_eq!(host.records(), ["cid1:eth0.json"]);
    assert_eq!(host.route_localnet(), "1");
}

#[test]
fn c74_without_mappings_no_program_runs() {
    let mut host = Host::new();
    for mappings in [Value::Null, json!([])] {
        for invocation in [
            host.add("cid1"),
            host.del("cid1"),
            host.del("cid1").prev_result(prev_result()),
            Invocation::check("cid1", "/run/netns/x", "eth0")
                .config(host.config())
                .prev_result(prev_result()),
        ] {
            let outcome =
                host.call(ScriptedTools::new(), invocation.capability("portMappings", mappings.clone()));
            outcome.assert_success();
        }
    }
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn without_addresses_there_is_nothing_to_forward_to() {
    let mut host = Host::new();
    let invocation =
        host.add("cid1").prev_result(json!({"cniVersion": "1.1.0", "interfaces": [{"name": "br0"}]}));
    host.call(ScriptedTools::new(), invocation.capability("portMappings", tcp())).assert_success();
}

#[test]
fn alone_it_is_refused() {
    let mut host = Host::new();
    let invocation = Invocation::add("cid1", "/run/netns/x", "eth0").config(host.config());
    let outcome = host.call(ScriptedTools::new(), invocation);
    assert_eq!(outcome.assert_error(7).msg, "must be called as chained plugin");
}

#[test]
fn a_bad_configuration_is_refused_before_anything_runs() {
    let mut host = Host::new();
    let invocation =
        host.add("cid1").config(host.config_with(json!({"backend": "pf"}))).prev_result(prev_result());
    let outcome = host.call(ScriptedTools::new(), invocation.capability("portMappings", tcp()));
    assert_eq!(outcome.assert_error(7).msg, r#"failed to parse config: unrecognized backend "pf""#);
    assert_eq!(outcome.json()["cniVersion"], "1.1.0");
}

#[test]
fn c22_del_after_a_refused_add_succeeds() {
    // The runtime calls it with the configuration that ADD refused.
    let mut host = Host::new();
    for mappings in [
        json!([{"hostPort": 0, "containerPort": 80}]),
        json!([{"hostPort": 70000, "containerPort": 80}]),
        json!([{"hostPort": 80, "containerPort": 80, "hostIP": "localhost"}]),
        json!(["nonsense"]),
    ] {
        let add = host.add("cid1").capability("portMappings", mappings.clone());
        host.call(ScriptedTools::new(), add).assert_error(7);
        let tools = ScriptedTools::new()
            .success(SAVE, "*nat\nCOMMIT\n")
            .success(SAVE6, "*nat\nCOMMIT\n")
            .failure(LIST, NO_TABLE)
            .failure(LIST6, NO_TABLE);
        host.call(tools, host.del("cid1").capability("portMappings", mappings)).assert_success();
    }
    host.call(ScriptedTools::new(), host.del("cid1").config(host.config_with(json!({"backend": "pf"}))))
        .assert_success();
}

#[test]
fn c22_del_where_no_firewall_is_installed_succeeds() {
    let mut host = Host::new();
    let tools = ScriptedTools::new().missing("iptables-save").missing("ip6tables-save").missing("nft");
    host.call(tools, host.del("cid1").capability("portMappings", tcp())).assert_success();
}

#[test]
fn c22_del_where_the_tool_of_add_is_not_installed_succeeds() {
    let mut host = Host::new();
    let config = host.config_with(json!({"backend": "nftables"}));
    let add = host.add("cid1").config(&config).prev_result(prev_result()).capability("portMappings", tcp());
    host.call(ScriptedTools::new().missing("nft").missing("nft"), add).assert_error(999);
    assert_eq!(host.records(), [""; 0], "an ADD that made nothing leaves nothing");
    // The tool went after an ADD, or the ADD was killed: the container must still go.
    let record = r#"{"network":"br","containerID":"cid1","ifname":"eth0","backend":"nftables","addresses":["10.2.0.2"]}"#;
    let of_gc = ScriptedTools::new().missing("iptables-save").missing("ip6tables-save").missing("nft");
    for (call, tools) in [
        (host.del("cid1").config(&config), ScriptedTools::new().missing("nft")),
        (Invocation::gc([]).config(&config), of_gc),
    ] {
        std::fs::write(host.dir.path().join("cid1:eth0.json"), record).unwrap();
        host.call(tools, call).assert_success();
        assert_eq!(host.records(), [""; 0]);
    }
}

#[test]
fn c22_del_where_no_record_can_be_succeeds() {
    let mut host = Host::new();
    let file = host.dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for dir in [file.clone(), file.join("below")] {
        let config = host.config_with(json!({"dataDir": dir}));
        host.call(ScriptedTools::new(), host.del("cid1").config(&config)).assert_success();
    }
}

#[test]
fn c22_del_where_no_firewall_works_says_so() {
    let mut host = Host::new();
    let tools = ScriptedTools::new()
        .failure(SAVE, "Permission denied (you must be root)\n")
        .failure(SAVE6, "Permission denied (you must be root)\n")
        .missing("nft");
    let outcome = host.call(tools, host.del("cid1").capability("portMappings", tcp()));
    let error = outcome.assert_error(999);
    assert!(error.to_string().contains("Permission denied"), "{error}");
}

#[test]
fn c74_del_needs_no_mappings_and_no_result() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let tools = ScriptedTools::new().success(SAVE, BY_GO).success(RESTORE, "");
    host.call(tools, host.del("cid1")).assert_success();
    assert!(host.tools.stdins()[1].contains("-X CNI-DN-a639b378b178d07a2cef8"));
    assert_eq!(host.records(), [""; 0]);
    host.call(ScriptedTools::new(), host.del("cid1")).assert_success();
}

#[test]
fn c74_del_uses_the_network_name_that_add_had() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let tools = ScriptedTools::new().success(SAVE, BY_GO).success(RESTORE, "");
    let renamed = host.del("cid1").config(host.config_with(json!({"name": "renamed"})));
    host.call(tools, renamed.capability("portMappings", tcp())).assert_success();
    assert!(host.tools.stdins()[1].contains("-X CNI-DN-a639b378b178d07a2cef8"));
}

#[test]
fn del_uses_the_backend_that_add_had() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let tools = ScriptedTools::new().success(SAVE, BY_GO).success(RESTORE, "");
    let changed = host.del("cid1").config(host.config_with(json!({"backend": "nftables"})));
    host.call(tools, changed.capability("portMappings", tcp())).assert_success();
}

#[test]
fn add_with_another_backend_takes_the_old_rules_down() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let tools = ScriptedTools::new()
        .success(SAVE, BY_GO)
        .success(RESTORE, "")
        .failure(LIST, NO_TABLE)
        .success(RUN, "");
    let changed = host.add("cid1").config(host.config_with(json!({"backend": "nftables"})));
    let changed = changed.prev_result(prev_result()).capability("portMappings", tcp());
    host.call(tools, changed).assert_success();
    let record = std::fs::read_to_string(host.dir.path().join("cid1:eth0.json")).unwrap();
    assert!(record.contains("nftables"), "{record}");
}

#[test]
fn a_damaged_record_makes_del_look_everywhere() {
    let mut host = Host::new();
    std::fs::write(host.dir.path().join("cid1:eth0.json"), "{").unwrap();
    let tools = ScriptedTools::new()
        .success(SAVE, BY_GO)
        .success(RESTORE, "")
        .success(SAVE6, "*nat\nCOMMIT\n")
        .failure(LIST, NO_TABLE)
        .failure(LIST6, NO_TABLE);
    host.call(tools, host.del("cid1")).assert_success();
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn a_failed_add_leaves_nothing() {
    let mut host = Host::new();
    // The second family fails, so that the first one is undone.
    let prev_result =
        json!({"cniVersion": "1.1.0", "ips": [{"address": "10.2.0.2/24"}, {"address": "fd00::2/64"}]});
    let tools = ScriptedTools::new()
        .success(SAVE, "*nat\nCOMMIT\n")
        .success(SAVE6, "*nat\nCOMMIT\n")
        .success(SAVE, "*nat\nCOMMIT\n")
        .success(RESTORE, "")
        .success(SAVE6, "*nat\nCOMMIT\n")
        .failure(RESTORE6, "ip6tables-restore: line 2 failed: no such thing\n")
        .success(SAVE6, "*nat\nCOMMIT\n")
        .success(SAVE, BY_GO)
        .success(RESTORE, "")
        .success(SAVE6, "*nat\nCOMMIT\n");
    let add = host.add("cid1").prev_result(prev_result).capability("portMappings", tcp());
    let outcome = host.call(tools, add);
    let error = outcome.assert_error(999);
    assert!(error.msg.starts_with("unable to setup DNAT: failed to run ip6tables-restore"), "{error}");
    assert!(host.tools.stdins()[8].contains("-X CNI-DN-a639b378b178d07a2cef8"));
    assert_eq!((host.records(), host.route_localnet()), (vec![], "0".to_owned()));
}

#[test]
fn an_add_that_cannot_route_localhost_leaves_nothing() {
    let mut host = Host::new();
    let conf = host.kernel.host().netlink().unwrap().link("br0").unwrap();
    host.kernel.refuse(format!("find link with index {}", conf.index), 1);
    let tools = adding("*nat\nCOMMIT\n").success(SAVE, BY_GO).success(RESTORE, "");
    let outcome = host.call(tools, host.add("cid1").capability("portMappings", tcp()));
    let error = outcome.assert_error(999);
    assert!(error.msg.starts_with("unable to enable route_localnet: "), "{error}");
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn a_clash_is_told_and_changes_nothing() {
    let mut host = Host::new();
    let tools = ScriptedTools::new().success(SAVE, BY_GO).success(SAVE, BY_GO).success(SAVE, BY_GO);
    let outcome = host.call(tools, host.add("cid2").capability("portMappings", tcp()));
    assert_eq!(
        outcome.assert_error(PORT_TAKEN.value()).msg,
        "unable to setup DNAT: host port 8080/tcp is already forwarded to container \"cid1\" of network \"br\", at 10.2.0.2:80"
    );
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn c73_udp_flows_are_forgotten_by_add_and_by_del() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", udp())).assert_success();
    let forgotten = "forget tracked connections of V4 to udp ports [8125]";
    assert_eq!(host.kernel.log().last().unwrap(), forgotten);
    let saved = BY_GO.replace("--dport 8081", "--dport 8125").replace("--dports 8081", "--dports 8125");
    let before = host.kernel.log().len();
    host.call(ScriptedTools::new().success(SAVE, &saved).success(RESTORE, ""), host.del("cid1"))
        .assert_success();
    assert_eq!(host.kernel.log()[before..], [forgotten]);
}

#[test]
fn c73_tcp_connections_are_left_alone() {
    let mut host = Host::new();
    let before = host.kernel.log();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    assert_eq!(host.kernel.log(), before);
}

#[test]
fn c73_flows_that_cannot_be_forgotten_are_no_failure() {
    let mut host = Host::new();
    host.kernel.refuse("forget", 1);
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", udp())).assert_success();
}

#[test]
fn c76_nft_is_used_where_there_is_no_iptables() {
    let mut host = Host::new();
    let tools = ScriptedTools::new()
        .missing("iptables-save")
        .success("nft list tables", "")
        .failure(LIST, NO_TABLE)
        .success(RUN, "");
    host.call(tools, host.add("cid1").capability("portMappings", tcp())).assert_success();
}

#[test]
fn c76_nft_is_used_where_iptables_cannot_read_its_table() {
    let mut host = Host::new();
    let tools = ScriptedTools::new()
        .success(SAVE, "# Table `nat' is incompatible, use 'nft' tool.\n")
        .success("nft list tables", "")
        .failure(LIST, NO_TABLE)
        .success(RUN, "");
    host.call(tools, host.add("cid1").capability("portMappings", tcp())).assert_success();
}

#[test]
fn c76_an_explicit_backend_is_not_probed() {
    let mut host = Host::new();
    let tools = ScriptedTools::new().failure(LIST, NO_TABLE).success(RUN, "");
    let add =
        host.add("cid1").config(host.config_with(json!({"backend": "nftables"}))).prev_result(prev_result());
    host.call(tools, add.capability("portMappings", tcp())).assert_success();
}

#[test]
fn c76_without_any_tool_the_error_says_what_was_probed() {
    let mut host = Host::new();
    let tools = ScriptedTools::new().missing("iptables-save").missing("nft");
    let outcome = host.call(tools, host.add("cid1").capability("portMappings", tcp()));
    let error = outcome.assert_error(999);
    assert!(error.msg.contains("iptables: ") && error.msg.contains("nftables: "), "{error}");
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn gc_removes_what_has_no_valid_attachment() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let gc = |host: &Host, valid: &[(&'static str, &'static str)]| {
        Invocation::gc(valid.iter().copied()).config(host.config())
    };

    // Alive: looked at, and left alone.
    let invocation = gc(&host, &[("cid1", "eth0")]);
    host.call(ScriptedTools::new().success(SAVE, BY_GO).success(SAVE6, "*nat\nCOMMIT\n"), invocation)
        .assert_success();
    assert_eq!(host.records(), ["cid1:eth0.json"]);

    // The rules of another network are none of its business.
    let invocation = Invocation::gc([]).config(host.config_with(json!({"name": "other"})));
    host.call(ScriptedTools::new().success(SAVE, BY_GO).success(SAVE6, "*nat\nCOMMIT\n"), invocation)
        .assert_success();
    assert_eq!(host.records(), ["cid1:eth0.json"]);

    let invocation = gc(&host, &[("cid2", "eth0"), ("cid1", "eth1")]);
    let tools =
        ScriptedTools::new().success(SAVE, BY_GO).success(RESTORE, "").success(SAVE6, "*nat\nCOMMIT\n");
    host.call(tools, invocation).assert_success();
    assert_eq!(host.records(), [""; 0]);
}

#[test]
fn gc_keeps_the_rules_of_an_interface_that_nobody_recorded() {
    // The chain is one; eth1 was set up by Go's plugin and is alive.
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let saved = BY_GO.replace("--to-destination 10.2.0.2:82", "--to-destination 10.2.0.9:82");
    let tools =
        ScriptedTools::new().success(SAVE, &saved).success(RESTORE, "").success(SAVE6, "*nat\nCOMMIT\n");
    host.call(tools, Invocation::gc([("cid1", "eth1")]).config(host.config())).assert_success();
    let script = &host.tools.stdins()[1];
    assert!(script.contains("--to-destination 10.2.0.9:82") && !script.contains("-X"), "{script}");
    assert!(!script.contains("--to-destination 10.2.0.2:80"), "{script}");
}

#[test]
fn gc_goes_on_where_a_tool_is_missing() {
    let mut host = Host::new();
    let tools = ScriptedTools::new().missing("iptables-save").missing("ip6tables-save");
    host.call(tools, Invocation::gc([]).config(host.config())).assert_success();
}

#[test]
fn gc_keeps_a_record_as_long_as_there_may_be_rules() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let tools = ScriptedTools::new().failure(SAVE, "no\n").success(SAVE6, "*nat\nCOMMIT\n");
    host.call(tools, Invocation::gc([]).config(host.config())).assert_error(999);
    assert_eq!(host.records(), ["cid1:eth0.json"]);
}

#[test]
fn old_results_are_passed_on_in_their_version() {
    let mut host = Host::new();
    let add = Invocation::add("cid1", "/run/netns/x", "eth0")
        .config(host.config_with(json!({"cniVersion": "0.2.0"})))
        .prev_result(json!({"cniVersion": "0.2.0", "ip4": {"ip": "10.2.0.2/24"}}))
        .capability("portMappings", tcp());
    let outcome = host.call(adding("*nat\nCOMMIT\n"), add);
    outcome.assert_success();
    assert_eq!(outcome.json()["ip4"]["ip"], "10.2.0.2/24");
}
