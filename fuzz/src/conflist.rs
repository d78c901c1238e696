//! Configuration lists: what is wrong is told with its place, and what is right can be run and leaves nothing behind.

use std::sync::Arc;

use cni_invoke::testing::{Reply, ScriptedExec};
use cni_types::config::{NetworkList, PluginConfig};
use libcni::{Client, Environment, Network, Problem, RuntimeConf};

use crate::{json, scratch};

/// Reads bytes as a list and as a plugin's file, and runs what is a network.
pub fn check(bytes: &[u8]) {
    let (list, faults) = NetworkList::decode_all(bytes);
    assert_eq!(NetworkList::decode(bytes).is_ok(), faults.is_empty());
    for fault in &faults {
        json::check_error(fault, bytes);
    }
    if faults.is_empty() {
        let text = serde_json::to_string(&list).expect("a list has a JSON form");
        assert_eq!(NetworkList::decode(text.as_bytes()), Ok(list));
    }
    for network in [Network::from_list(bytes), Network::from_plugin(bytes)] {
        match network {
            Ok(network) => check_network(&network),
            Err(problems) => check_problems(&problems, bytes),
        }
    }
}

fn check_problems(problems: &[Problem], document: &[u8]) {
    assert!(!problems.is_empty(), "a file is refused without a word");
    for problem in problems {
        assert!(!problem.to_string().is_empty());
        json::check_place(problem.line, problem.column, document);
    }
}

fn check_network(network: &Network) {
    assert!(!network.plugins().is_empty());
    let exec = Arc::new(ScriptedExec::new().otherwise(|call| match call.command().as_str() {
        "ADD" => {
            call.reply(serde_json::json!({"ips": [{"address": "10.1.0.5/16"}], "ip4": {"ip": "10.1.0.5/16"}}))
        }
        _ => Reply::nothing(),
    }));
    let client = Client::builder()
        .cache_dir(scratch::empty_dir("conflist"))
        .exec(Arc::clone(&exec) as Arc<dyn libcni::Exec>)
        .environment(Environment::default())
        .build();
    let rt = RuntimeConf::new("c1", "eth0").expect("good names").with_netns("/run/netns/c1");
    let added = client.add(network, &rt);
    // A cache file has the names of network, container and interface in its own.
    let has_room = network.name().as_str().len() + "-c1-eth0".len() <= 255;
    assert_eq!(
        added.is_ok(),
        network.version().is_ok() && has_room,
        "what can be loaded can be run: {added:?}"
    );
    if added.is_ok() {
        let cached = client.attachments(None).expect("the cache can be read");
        assert_eq!(cached.len(), 1);
        let again = cached[0].network().expect("what was cached is a network");
        assert_eq!(again.plugins().len(), network.plugins().len());
        assert_eq!(again.name(), network.name());
        let _ = client.check(network, &rt);
    }
    client.del(network, &rt).expect("DEL succeeds");
    let left = client.attachments(None).expect("the cache can be read");
    assert!(left.is_empty(), "DEL leaves {left:?}");

    for call in exec.calls() {
        let sent = PluginConfig::decode(call.stdin()).expect("a plugin is sent a configuration");
        assert_eq!(sent.name.as_deref(), Some(network.name().as_str()));
        assert_eq!(sent.plugin_type.as_deref(), Some(call.plugin().as_str()));
        assert!(sent.capabilities.is_none());
        if let Ok(version) = network.version() {
            assert_eq!(sent.version(), Ok(version));
        }
    }
}
