//! Rules of the firewall as parts of ADD and CHECK. What they are is tested beside the code.

use cni_skel::testing::Invocation;
use plugin_support::testing::ScriptedTools;
use serde_json::json;

use super::world::{NETNS, World, config, l3};

const RESTORE: &str = "iptables-restore --noflush --wait=60";
const JSON: &str = "nft -j -f -";

#[test]
fn masquerade_is_for_the_addresses_of_the_container() {
    let world = World::new()
        .with_addresses(json!({"ips": [{"address": "10.1.0.5/24"}, {"address": "fd00::5/64"}]}))
        .with_tools(ScriptedTools::new().success(RESTORE, "").success(&RESTORE.replace("ip", "ip6"), ""));
    world.add(&l3(&json!({"ipMasq": true}))).assert_success();
    world.tools.assert_done();
    let scripts = world.tools.stdins();
    assert!(scripts[0].contains("-A POSTROUTING -s 10.1.0.5/32") && scripts[1].contains("-s fd00::5/128"));
}

#[test]
fn masquerade_needs_addresses() {
    let world = World::new();
    let config = config(&json!({"ipMasq": true}));
    let added = world.add(&config);
    added.assert_success();
    world.check(&config, &added).assert_success();
    world.del(&config).assert_success();
    assert_eq!(world.tools.calls().len(), 0);
}

#[test]
fn frames_are_checked_before_there_are_addresses() {
    let world = World::new().with_tools(ScriptedTools::new().success(JSON, ""));
    let config = config(&json!({"macspoofchk": true}));
    let call = Invocation::add("c1", NETNS, "eth0").config(config).capability("mac", "0a:00:00:00:00:01");
    world.run(call).assert_success();
    let script = &world.tools.stdins()[0];
    let port = world.port().name;
    assert!(script.contains("0a:00:00:00:00:01") && script.contains(&format!("\"{port}\"")), "{script}");
}

#[test]
fn check_looks_at_the_rules() {
    let world = World::new().with_tools(ScriptedTools::new().success(JSON, "").success(RESTORE, ""));
    let config = l3(&json!({"ipMasq": true, "ipMasqBackend": "iptables", "macspoofchk": true}));
    let added = world.add(&config);
    added.assert_success();
    let nat = "nft -j -t list table bridge nat";
    let world = world.with_tools(ScriptedTools::new().failure(nat, "Error: No such file or directory\n"));
    let error = world.check(&config, &added).assert_error(999).clone();
    assert!(error.msg.starts_with("macspoofchk: no base chain PREROUTING"), "{error}");
    let mut without = config;
    without["macspoofchk"] = json!(false);
    let nothing = "*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n";
    let world = world.with_tools(ScriptedTools::new().success("iptables-save --table nat", nothing));
    let error = world.check(&without, &added).assert_error(999).clone();
    assert!(error.msg.starts_with("masquerade rule ") && error.msg.contains("not found in chain"), "{error}");
}
