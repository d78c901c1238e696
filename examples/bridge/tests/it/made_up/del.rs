//! DEL takes away whatever there is, and gives the addresses back in any case.

use cni_skel::testing::Invocation;
use cni_skel::types::Command;
use plugin_support::netlink::{BridgeOptions, LinkChange, LinkKind, NewLink, Peer};
use plugin_support::testing::ScriptedTools;
use serde_json::json;

use super::world::{NETNS, World, commands, config, l3};

const SAVE: &str = "iptables-save --table nat";
const SAVE6: &str = "ip6tables-save --table nat";
const NFT_LIST: &str = "nft -j -t list table inet cni_plugins_masquerade";
const NO_TABLE: &str = "Error: No such file or directory\n";

#[test]
fn the_pair_goes_and_the_bridge_stays() {
    let (world, config) = (World::new(), l3(&json!({"isGateway": true})));
    world.add(&config).assert_success();
    let outcome = world.del(&config);
    outcome.assert_success();
    assert_eq!(outcome.stdout(), b"");
    assert_eq!(commands(&outcome), [Command::Del]);
    assert_eq!(world.host_links(), ["lo", "cni0"]);
    assert_eq!(world.host_addresses("cni0"), ["10.1.0.1/24"]);
    assert!(world.inside().link("eth0").unwrap_err().is_not_found());
}

#[test]
fn c14_an_empty_netns_is_an_absent_one() {
    for path in [Some(""), None, Some("/run/netns/long-gone")] {
        let world = World::new();
        let host = world.host();
        host.create(&NewLink::new("eth0", LinkKind::Veth(Peer::new("eth1")))).unwrap();
        host.set_up(&host.link("eth0").unwrap()).unwrap();
        let before = world.fake.log();
        let call = Invocation::del("c1", "eth0").config(l3(&json!({})));
        let call = if let Some(path) = path { call.netns(path) } else { call };
        let outcome = world.run(call);
        outcome.assert_success();
        assert_eq!(commands(&outcome), [Command::Del], "the addresses are given back");
        assert_eq!(world.fake.log(), before, "no link is touched");
        assert!(host.link("eth0").unwrap().is_up());
    }
}

#[test]
fn c22_twice_before_add_and_without_the_netns() {
    let (world, config) = (World::new(), l3(&json!({"isGateway": true})));
    world.del(&config).assert_success();
    world.add(&config).assert_success();
    world.del(&config).assert_success();
    world.del(&config).assert_success();
    world.add(&config).assert_success();
    world.fake.remove_netns(NETNS);
    for _ in 0..2 {
        let outcome = world.del(&config);
        outcome.assert_success();
        assert_eq!(commands(&outcome), [Command::Del]);
    }
    assert_eq!(world.host_links(), ["lo", "cni0"]);
}

#[test]
fn c22_other_failures_are_told_and_the_rest_is_done() {
    let (world, config) = (World::new(), l3(&json!({})));
    world.add(&config).assert_success();
    world.fake.refuse("delete link \"eth0\"", 1);
    let outcome = world.del(&config);
    assert!(outcome.assert_error(999).msg.contains("failed to delete link \"eth0\""));
    assert_eq!(commands(&outcome), [Command::Del]);
    world.del(&config).assert_success();

    let call = Invocation::del("c1", "eth0").netns(NETNS).config(&config);
    let outcome = call
        .delegate("host-local", |call| call.fail(cni_skel::ErrorCode::TRY_AGAIN, "the store is locked"))
        .run(&world.plugin());
    assert!(outcome.assert_error(11).msg.ends_with("the store is locked"));
}

#[test]
fn a_pair_that_outlives_its_netns_is_found_by_its_label() {
    let (world, config) = (World::new(), l3(&json!({})));
    world.add(&config).assert_success();
    world.fake.add_netns("/run/netns/c2");
    world.run(Invocation::add("c2", "/run/netns/c2", "eth0").config(&config)).assert_success();
    // The runtime has unmounted the namespace, but a process is in it still.
    world.run(Invocation::del("c1", "eth0").config(&config)).assert_success();
    assert!(world.inside().link("eth0").unwrap_err().is_not_found());
    assert_eq!(world.host_links().len(), 3, "the other container's stays");
    world.run(Invocation::del("c2", "eth0").netns("").config(&config)).assert_success();
    assert_eq!(world.host_links(), ["lo", "cni0"]);
}

#[test]
fn a_link_that_was_renamed_is_found_by_its_label() {
    let (world, config) = (World::new(), l3(&json!({})));
    world.add(&config).assert_success();
    let inside = world.inside();
    inside.change(&inside.link("eth0").unwrap(), &LinkChange::new().name("net7")).unwrap();
    world.del(&config).assert_success();
    assert!(inside.link("net7").unwrap_err().is_not_found());
}

#[test]
fn the_link_of_another_attachment_is_left_alone() {
    let (world, first) = (World::new(), l3(&json!({})));
    let added = world.add(&first);
    let mut second = l3(&json!({"bridge": "br2"}));
    second["name"] = json!("n2");
    world.add(&second).assert_error(999);
    // A runtime undoes what failed.
    world.del(&second).assert_success();
    world.check(&first, &added).assert_success();
}

#[test]
fn a_link_that_go_has_made_has_no_label_and_goes() {
    let (world, config) = (World::new(), l3(&json!({})));
    world.add(&config).assert_success();
    world.host().change(&world.port(), &LinkChange::new().alias("")).unwrap();
    world.del(&config).assert_success();
    assert_eq!(world.host_links(), ["lo", "cni0"]);
}

#[test]
fn another_kind_of_link_is_not_ours() {
    let (world, config) = (World::new(), config(&json!({})));
    let bridge = LinkKind::Bridge(BridgeOptions::default());
    world.inside().create(&NewLink::new("eth0", bridge)).unwrap();
    world.del(&config).assert_success();
    assert!(world.inside().link("eth0").is_ok());
}

#[test]
fn c78_one_interface_of_a_container_goes_without_the_other() {
    let (world, config) = (World::new(), config(&json!({})));
    let added = world.add(&config);
    added.assert_success();
    world.run(Invocation::add("c1", NETNS, "net1").config(&config)).assert_success();
    for netns in [NETNS, "", NETNS] {
        let call = Invocation::del("c1", "net1").netns(netns).config(&config);
        world.run(call).assert_success();
    }
    world.check(&config, &added).assert_success();
}

#[test]
fn rules_go_without_a_netns_and_without_a_result() {
    // Nothing is known of the addresses, so both families are searched.
    let tools = || {
        ScriptedTools::new()
            .success(SAVE, "*nat\n:POSTROUTING ACCEPT [0:0]\n:CNI-7be53730afe4dc6eb2178d03 - [0:0]\n-A POSTROUTING -s 10.1.0.5/32 -j CNI-7be53730afe4dc6eb2178d03\nCOMMIT\n")
            .success("iptables-restore --noflush --wait=60", "")
            .success(SAVE6, "")
            .failure(NFT_LIST, NO_TABLE)
            .failure("nft -j -t list table bridge nat", NO_TABLE)
    };
    let config = l3(&json!({"ipMasq": true, "macspoofchk": true}));
    for call in [
        Invocation::del("c1", "eth0"),
        Invocation::del("c1", "eth0").netns(""),
        Invocation::del("c1", "eth0").netns("/run/netns/long-gone"),
        Invocation::del("c1", "eth0").netns(NETNS),
    ] {
        let world = World::new().with_tools(tools());
        let outcome = world.run(call.config(&config));
        outcome.assert_success();
        world.tools.assert_done();
        assert_eq!(
            world.tools.stdins()[1],
            "*nat\n-D POSTROUTING -s 10.1.0.5/32 -j CNI-7be53730afe4dc6eb2178d03\n\
             :CNI-7be53730afe4dc6eb2178d03 - [0:0]\n-X CNI-7be53730afe4dc6eb2178d03\nCOMMIT\n"
        );
        assert_eq!(commands(&outcome), [Command::Del]);
    }
}

#[test]
fn rules_that_the_configuration_no_longer_asks_for_are_looked_for_if_they_were_made() {
    let list = "nft -j -t list table bridge nat";
    let asked = json!({"ipMasq": true, "ipMasqBackend": "nftables", "macspoofchk": true});
    let made = || {
        let tools = ScriptedTools::new().success("nft -j -f -", "").success("nft -f -", "");
        let world = World::new().with_tools(tools);
        world.add(&l3(&asked)).assert_success();
        world.tools.assert_done();
        world
    };
    let look = || {
        let empty = "*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n";
        ScriptedTools::new().success(SAVE, empty).failure(NFT_LIST, NO_TABLE).failure(list, NO_TABLE)
    };
    let world = made().with_tools(look());
    world.del(&l3(&json!({}))).assert_success();
    world.tools.assert_done();
    // What cannot be looked for is left behind, and that is told.
    let refused = "Operation not permitted\n";
    let world = made().with_tools(
        ScriptedTools::new().failure(SAVE, refused).failure(NFT_LIST, refused).failure(list, refused),
    );
    let outcome = world.del(&l3(&json!({})));
    outcome.assert_error(999);
    assert_eq!((commands(&outcome), world.host_links().len()), (vec![Command::Del], 2));
    // Who never had any starts no program; nor does anybody for those of another attachment.
    let world = World::new();
    world.add(&l3(&json!({}))).assert_success();
    world.del(&l3(&json!({}))).assert_success();
    assert_eq!(world.tools.calls(), []);
    let world = made().with_tools(ScriptedTools::new());
    let mut other = l3(&json!({}));
    other["name"] = json!("n2");
    world.del(&other).assert_success();
    assert_eq!((world.tools.calls(), world.host_links().len()), (vec![], 3));
}

#[test]
fn the_result_tells_which_rules_are_meant() {
    let rules = "*nat\n:POSTROUTING ACCEPT [0:0]\n:CNI-7be53730afe4dc6eb2178d03 - [0:0]\n\
        -A POSTROUTING -s 10.1.0.5/32 -j CNI-7be53730afe4dc6eb2178d03\n\
        -A POSTROUTING -s 10.1.0.6/32 -j CNI-7be53730afe4dc6eb2178d03\nCOMMIT\n";
    let tools = ScriptedTools::new()
        .success(SAVE, rules)
        .success("iptables-restore --noflush --wait=60", "")
        .failure(NFT_LIST, NO_TABLE);
    let world = World::new().with_tools(tools);
    let result = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "eth0", "sandbox": NETNS}, {"name": "net1", "sandbox": NETNS}], "ips": [
        {"interface": 0, "address": "10.1.0.5/24"}, {"interface": 1, "address": "10.1.0.6/24"},
    ]});
    let call = Invocation::del("c1", "eth0").config(l3(&json!({"ipMasq": true}))).prev_result(result);
    world.run(call).assert_success();
    world.tools.assert_done();
    assert_eq!(
        world.tools.stdins()[1],
        "*nat\n-D POSTROUTING -s 10.1.0.5/32 -j CNI-7be53730afe4dc6eb2178d03\nCOMMIT\n"
    );
}

#[test]
fn a_failure_of_the_rules_keeps_neither_the_link_nor_the_addresses() {
    let tools = ScriptedTools::new()
        .failure(SAVE, "Operation not permitted\n")
        .failure(NFT_LIST, "Operation not permitted\n");
    let world = World::new();
    world.add(&l3(&json!({}))).assert_success();
    let world = world.with_tools(tools);
    let outcome = world.del(&l3(&json!({"ipMasq": true})));
    let error = outcome.assert_error(999);
    assert!(error.details.contains("failed to tear down masquerade by iptables"), "{error}");
    assert_eq!(commands(&outcome), [Command::Del]);
    assert_eq!(world.host_links(), ["lo", "cni0"]);
}

#[test]
fn whatever_the_configuration_says_del_works() {
    let world = World::new();
    for keys in [
        json!({"vlan": 5000}),
        json!({"hairpinMode": true, "promiscMode": true}),
        json!({"disableContainerInterface": true}),
        json!({"mtu": -5, "bridge": ""}),
    ] {
        let outcome = world.del(&l3(&keys));
        outcome.assert_success();
        assert_eq!(commands(&outcome), [Command::Del]);
    }
}
