//! STATUS says whether ADD could work.

use cni_skel::testing::{DelegateReply, Invocation};
use cni_skel::types::Command;
use cni_skel::{CniPlugin as _, CniVersion, ErrorCode};
use plugin_support::testing::ScriptedTools;
use serde_json::json;

use super::world::{World, commands, config, l3};

const IPTABLES: &str = "iptables --wait=60 --table nat --list-rules POSTROUTING";

#[test]
fn ipam_is_asked_and_its_answer_counts() {
    let world = World::new();
    let outcome = world.run(Invocation::status().config(l3(&json!({}))));
    outcome.assert_success();
    assert_eq!(commands(&outcome), [Command::Status]);
    let outcome = Invocation::status()
        .config(l3(&json!({})))
        .delegate("host-local", |call| call.fail(ErrorCode::PLUGIN_NOT_AVAILABLE, "the pool is exhausted"))
        .run(&world.plugin());
    assert!(outcome.assert_error(50).msg.ends_with("the pool is exhausted"));
    let outcome = world.run(Invocation::status().config(config(&json!({}))));
    outcome.assert_success();
    assert_eq!(commands(&outcome), []);
}

#[test]
fn a_program_that_is_missing_is_told() {
    for (keys, tools, told) in [
        (
            json!({"ipMasq": true, "ipMasqBackend": "iptables"}),
            ScriptedTools::new().missing("iptables"),
            "ipMasq is not possible: failed to find \"iptables\"",
        ),
        (
            json!({"ipMasq": true, "ipMasqBackend": "nftables"}),
            ScriptedTools::new().failure("nft list tables", "Operation not permitted\n"),
            "ipMasq is not possible: failed to run nft list tables",
        ),
        (
            json!({"ipMasq": true}),
            ScriptedTools::new().missing("iptables").missing("nft"),
            "ipMasq is not possible: no usable firewall",
        ),
        (
            json!({"macspoofchk": true}),
            ScriptedTools::new().missing("nft"),
            "macspoofchk is not possible: failed to find \"nft\"",
        ),
    ] {
        let world = World::new().with_tools(tools);
        let outcome = world.run(Invocation::status().config(l3(&keys)));
        let error = outcome.assert_error(50);
        assert!(error.msg.starts_with(told), "{error}");
        world.tools.assert_done();
    }
    // Either will do, and what is not wanted need not be there.
    for (keys, tools) in [
        (json!({"ipMasq": true}), ScriptedTools::new().missing("iptables").success("nft list tables", "")),
        (
            json!({"ipMasq": true, "macspoofchk": true}),
            ScriptedTools::new().success(IPTABLES, "").success("nft list tables", ""),
        ),
        (json!({"ipMasqBackend": "nftables"}), ScriptedTools::new()),
    ] {
        let world = World::new().with_tools(tools);
        world.run(Invocation::status().config(l3(&keys))).assert_success();
        world.tools.assert_done();
    }
    World::new().run(Invocation::status().config(config(&json!({"ipMasq": true})))).assert_success();
}

#[test]
fn a_name_that_another_kind_of_link_has_is_told() {
    let world = World::new();
    let status = |name: &str| world.run(Invocation::status().config(config(&json!({"bridge": name}))));
    let error = status("lo").assert_error(50).clone();
    assert_eq!(error.msg, r#"failed to create bridge "lo": "lo" already exists but is not a bridge"#);
    // One that is there already is as good as none.
    world.add(&config(&json!({"bridge": "br0"}))).assert_success();
    for name in ["br0", "br1"] {
        status(name).assert_success();
    }
}

#[test]
fn a_configuration_that_makes_no_sense_is_told() {
    let outcome = World::new().run(Invocation::status().config(l3(&json!({"vlan": 5000}))));
    assert!(outcome.assert_error(7).msg.starts_with("invalid VLAN ID 5000"));
    let call = Invocation::status().config(l3(&json!({})));
    let outcome = call.delegate("other", |_| DelegateReply::nothing()).run(&World::new().plugin());
    assert!(outcome.error().is_some_and(|error| error.msg.contains("host-local")), "{:?}", outcome.error());
}

#[test]
fn every_version_is_supported() {
    let world = World::new();
    let outcome = Invocation::version().run(&world.plugin());
    assert_eq!(bridge::Bridge::VERSIONS, CniVersion::ALL);
    assert_eq!(outcome.info().unwrap().supported_versions.len(), 7);
}
