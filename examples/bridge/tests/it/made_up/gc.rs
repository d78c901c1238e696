//! GC takes away what belongs to no valid attachment.

use cni_skel::testing::{DelegateReply, Invocation};
use cni_skel::types::Command;
use plugin_support::netlink::{LinkKind, NewLink, Peer};
use plugin_support::testing::ScriptedTools;
use serde_json::{Value, json};

use super::world::{World, commands, config, l3};

/// A host with containers of two networks.
fn world(config: &Value) -> World {
    let world = World::new().with_tools(ScriptedTools::bare());
    let mut other = config.clone();
    other["name"] = json!("n2");
    for (id, config) in [("c1", config), ("c2", config), ("x1", &other)] {
        let netns = format!("/run/netns/{id}");
        if id != "c1" {
            world.fake.add_netns(&netns);
        }
        world.run(Invocation::add(id, &netns, "eth0").config(config)).assert_success();
    }
    world
}

fn has_link(world: &World, id: &str) -> bool {
    let kernel = plugin_support::kernel::Kernel::from(&world.fake);
    kernel.netns(format!("/run/netns/{id}")).unwrap().netlink().unwrap().link("eth0").is_ok()
}

#[test]
fn pairs_of_no_valid_attachment_go_and_ipam_is_told() {
    let config = l3(&json!({"isGateway": true}));
    let world = world(&config);
    let host = world.host();
    host.create(&NewLink::new("vethadmin", LinkKind::Veth(Peer::new("vethother")))).unwrap();
    let outcome = world.run(Invocation::gc([("c2", "eth0"), ("c1", "net1")]).config(&config));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Gc]);
    assert!(outcome.delegate_calls()[0].config()["cni.dev/valid-attachments"].is_array());
    let alive = ["c1", "c2", "x1"].map(|id| has_link(&world, id));
    assert_eq!(alive, [false, true, true], "the third is of another network");
    assert!(host.link("vethadmin").is_ok(), "nobody's");
    // None is valid.
    world.run(Invocation::gc([]).config(&config)).assert_success();
    assert_eq!(["c1", "c2", "x1"].map(|id| has_link(&world, id)), [false, false, true]);
}

#[test]
fn without_ipam_nobody_else_is_asked_and_programs_that_are_not_there_are_no_matter() {
    let config = config(&json!({}));
    let world = world(&config);
    let outcome = world.run(Invocation::gc([("c1", "eth0")]).config(&config));
    outcome.assert_success();
    assert_eq!(commands(&outcome).len(), 0);
    // The configuration may have asked for macspoofchk before, but without addresses there was nothing to masquerade.
    let tools = |world: &World| -> Vec<_> { world.tools.calls().into_iter().map(|call| call.tool).collect() };
    assert_eq!(tools(&world), ["nft"]);
    let with_ipam = self::world(&l3(&json!({})));
    with_ipam.run(Invocation::gc([]).config(l3(&json!({})))).assert_success();
    assert_eq!(tools(&with_ipam), ["iptables-save", "ip6tables-save", "nft", "nft"]);
    assert_eq!(["c1", "c2"].map(|id| has_link(&world, id)), [true, false]);
}

#[test]
fn a_failure_does_not_keep_the_rest() {
    let plain = l3(&json!({}));
    let tools = ScriptedTools::new()
        .failure("iptables-save --table nat", "Operation not permitted\n")
        .missing("ip6tables-save")
        .failure("nft -j -t list table inet cni_plugins_masquerade", "Error: No such file or directory\n")
        .failure("nft -j -t list table bridge nat", "Operation not permitted\n");
    let world = world(&plain).with_tools(tools);
    world.fake.refuse("delete link", 1);
    let config = l3(&json!({"ipMasq": true, "macspoofchk": true}));
    let call = Invocation::gc([]).config(&config);
    let outcome = call.delegate("host-local", |_| DelegateReply::nothing()).run(&world.plugin());
    let error = outcome.assert_error(999);
    assert_eq!(error.msg, "3 errors");
    for told in
        ["failed to delete", "failed to collect masquerade rules", "failed to collect spoof-check rules"]
    {
        assert!(error.details.contains(told), "{told}: {error}");
    }
    world.tools.assert_done();
    assert_eq!(commands(&outcome), [Command::Gc]);
    assert_eq!(["c1", "c2"].map(|id| has_link(&world, id)).iter().filter(|alive| **alive).count(), 1);
}

#[test]
fn to_look_in_vain_for_what_nobody_asks_for_is_no_failure() {
    let config = config(&json!({}));
    let refused = "nft -j -t list table bridge nat";
    let tools = || ScriptedTools::new().failure(refused, "Operation not permitted\n");
    let world = World::new().with_tools(tools());
    world.run(Invocation::gc([]).config(&config)).assert_success();
    world.tools.assert_done();
    let world = World::new().with_tools(tools());
    let mut wanted = config;
    wanted["macspoofchk"] = json!(true);
    let error = world.run(Invocation::gc([]).config(&wanted)).assert_error(999).clone();
    assert!(error.msg.starts_with("failed to collect spoof-check rules"), "{error}");
}
