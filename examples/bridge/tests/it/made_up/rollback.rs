//! An ADD that fails leaves nothing but the bridge, and one that is killed nothing that the next DEL does not remove.

use cni_skel::types::Command;
use plugin_support::testing::ScriptedTools;
use serde_json::{Value, json};

use super::world::{World, commands, l3, log};

fn world() -> World {
    let addresses = json!({
        "ips": [{"address": "10.1.0.5/24"}, {"address": "fd00::5/64"}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}, {"dst": "::/0", "gw": "fd00::1"}],
    });
    World::new().with_addresses(addresses)
}

fn full() -> Value {
    l3(
        &json!({"isGateway": true, "hairpinMode": true, "portIsolation": true, "vlan": 100, "enabledad": true}),
    )
}

/// What must hold after a failed ADD, and that everything is possible after it.
fn assert_nothing_is_left(world: &World, step: &str, calls: &[Command]) {
    let links = world.host_links();
    let shared = ["lo", "cni0", "cni0.100"];
    let left: Vec<_> = links.iter().filter(|link| !shared.contains(&link.as_str())).collect();
    // The link into the VLAN is a pair of its own.
    let expected = usize::from(links.iter().any(|link| link == "cni0.100"));
    assert_eq!(left.len(), expected, "{step}: {links:?}");
    assert!(world.inside().link("eth0").unwrap_err().is_not_found(), "{step}");
    for bridge in ["cni0", "cni0.100"] {
        if links.iter().any(|link| link == bridge) {
            assert_eq!(world.host_addresses(bridge), [""; 0], "{step}");
        }
    }
    // Whatever was leased was given back.
    let count = |command| calls.iter().filter(|call| **call == command).count();
    assert_eq!(count(Command::Add), count(Command::Del), "{step}: {calls:?}");
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    let good = world();
    good.add(&full()).assert_success();
    // Every kind of change, and what is read in between.
    let mut steps: Vec<String> = log(&good)
        .iter()
        .map(|line| line.split(['*', ':']).next().unwrap().replace("(index N)", "").trim().to_owned())
        .collect();
    steps.extend(
        ["find link \"eth0\"", "find link \"veth", "find link with index", "list vlans", "list addresses"]
            .map(str::to_owned),
    );
    steps.sort();
    steps.dedup();
    assert!(steps.len() > 15, "{steps:#?}");
    let mut refused = 0;
    for step in &steps {
        let world = world();
        world.fake.refuse(step, 12);
        let outcome = world.add(&full());
        let Some(error) = outcome.error() else { panic!("{step} was not needed") };
        assert!(error.msg.contains("cannot allocate memory"), "{step}: {error}");
        refused += 1;
        assert_nothing_is_left(&world, step, &commands(&outcome));
        world.del(&full()).assert_success();
        let again = world.add(&full());
        again.assert_success();
        world.check(&full(), &again).assert_success();
    }
    assert_eq!(refused, steps.len());
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    let good = world();
    good.add(&full()).assert_success();
    let changes = log(&good).len();
    for change in 0..changes {
        let world = world();
        // Whatever it would undo stays.
        world.fake.die_after(change);
        world.add(&full()).assert_error(999);
        assert_eq!(log(&world).len(), change);
        world.fake.revive();
        for _ in 0..2 {
            let outcome = world.del(&full());
            outcome.assert_success();
            assert_eq!(commands(&outcome), [Command::Del]);
            let links = world.host_links();
            let shared = ["lo", "cni0", "cni0.100"];
            let left = links.iter().filter(|link| !shared.contains(&link.as_str())).count();
            let of_vlan = usize::from(links.iter().any(|link| link == "cni0.100"));
            assert_eq!(left, of_vlan, "{change}: {links:?}");
            assert!(world.inside().link("eth0").unwrap_err().is_not_found(), "{change}");
        }
        let again = world.add(&full());
        again.assert_success();
        world.check(&full(), &again).assert_success();
    }
}

#[test]
fn the_addresses_are_given_back_when_the_link_is_gone() {
    let world = world();
    world.fake.refuse("add route 0.0.0.0/0", 12);
    let fake = world.fake.clone();
    let call = cni_skel::testing::Invocation::add("c1", super::world::NETNS, "eth0").config(full());
    let answer = world.ipam();
    let outcome = call
        .delegate("host-local", move |call| {
            let deleted = fake.log().iter().any(|line| line.starts_with("delete link \"eth0\""));
            assert_eq!(deleted, call.command() == Command::Del, "{}", call.command());
            answer(call)
        })
        .run(&world.plugin());
    outcome.assert_error(999);
    assert_eq!(commands(&outcome), [Command::Add, Command::Del]);
}

#[test]
fn rules_are_undone_too() {
    let nft = "nft -j -f -";
    let no_table = "Error: No such file or directory\n";
    let tools = ScriptedTools::new()
        .success(nft, "")
        .success("iptables-restore --noflush --wait=60", "")
        .success("ip6tables-restore --noflush --wait=60", "")
        // From here on, what is undone.
        .failure("nft -j -t list table bridge nat", no_table)
        .success("iptables-save --table nat", "")
        .success("ip6tables-save --table nat", "")
        .failure("nft -j -t list table inet cni_plugins_masquerade", no_table);
    let world = world().with_tools(tools);
    world.fake.refuse("add address 10.1.0.1/24", 12);
    let mut config = full();
    (config["ipMasq"], config["macspoofchk"]) = (json!(true), json!(true));
    let outcome = world.add(&config);
    outcome.assert_error(999);
    world.tools.assert_done();
    assert_nothing_is_left(&world, "gateway", &commands(&outcome));
}

#[test]
fn rules_that_cannot_be_made_undo_the_rest() {
    for (keys, tools) in [
        (json!({"macspoofchk": true}), ScriptedTools::new().missing("nft")),
        (
            json!({"ipMasq": true, "ipMasqBackend": "iptables"}),
            ScriptedTools::new().missing("iptables-restore"),
        ),
        (json!({"ipMasq": true, "ipMasqBackend": "nftables"}), ScriptedTools::new().missing("nft")),
        (
            json!({"ipMasq": true}),
            ScriptedTools::new().missing("iptables-restore").missing("iptables").missing("nft"),
        ),
    ] {
        let world = world().with_tools(tools);
        let outcome = world.add(&l3(&keys));
        let error = outcome.assert_error(999);
        assert!(error.msg.contains("failed to find"), "{error}");
        world.tools.assert_done();
        assert_nothing_is_left(&world, &keys.to_string(), &commands(&outcome));
    }
}
