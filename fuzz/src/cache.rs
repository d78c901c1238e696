//! Cache files: whatever is in them, they are listed or told of, and neither DEL nor GC is kept from its work.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cni_invoke::testing::{Reply, ScriptedExec};
use libcni::{Client, Environment, Network, RuntimeConf};

use crate::scratch;

const NETWORK: &str = r#"{"cniVersion":"1.1.0","name":"net1","plugins":[{"type":"a"}]}"#;
/// Where Go's library, and so ours, keeps the attachment of the test.
const FILE: &str = "net1-c1-eth0";

/// Puts bytes where the record of an attachment is, and goes through what a runtime does.
pub fn check(bytes: &[u8]) {
    let dir = scratch::empty_dir("cache");
    let results = dir.join("results");
    fs::create_dir(&results).expect("a directory can be made");
    let client = client(&dir);
    let network = Network::from_list(NETWORK.as_bytes()).expect("a good network");
    let rt = RuntimeConf::new("c1", "eth0").expect("good names").with_netns("/run/netns/c1");

    fs::write(results.join(FILE), bytes).expect("a file can be written");
    for cached in client.attachments(None).expect("the cache can be listed") {
        assert!(!cached.container_id().is_empty() && !cached.ifname().is_empty());
        assert_eq!(cached.file(), results.join(FILE));
        if let Ok(rt) = cached.runtime_conf() {
            assert_eq!(rt.container_id(), cached.container_id());
            assert_eq!(rt.args().iter().count(), cached.args().len());
        }
        if let Err(problems) = cached.network() {
            assert!(!problems.is_empty());
        }
        let _ = cached.result();
    }
    let _ = client.cached_result(&network, &rt);
    let _ = client.check(&network, &rt);

    client.del(&network, &rt).expect("no cache file keeps DEL from its work");
    assert_eq!(records_of(&client, "c1"), 0, "DEL leaves a record");

    // An ADD beside whatever it is, and its end.
    fs::write(results.join(FILE), bytes).expect("a file can be written");
    client.add(&network, &rt).expect("no cache file keeps ADD from its work");
    assert_eq!(records_of(&client, "c1"), 1, "ADD has one record");
    let result = client.cached_result(&network, &rt).expect("the result can be read");
    assert!(result.is_some(), "the result is there");
    client.del(&network, &rt).expect("DEL succeeds");
    assert_eq!(records_of(&client, "c1"), 0, "DEL leaves a record");

    // GC of a network removes what is not valid, and nothing of another network.
    fs::write(results.join(FILE), bytes).expect("a file can be written");
    let of_others = |client: &Client| {
        let all = client.attachments(None).expect("the cache can be listed");
        all.iter().filter(|cached| cached.network_name() != "net1").count()
    };
    let others = of_others(&client);
    let _ = client.gc(&network, &[rt.attachment()]);
    assert_eq!(of_others(&client), others);
}

fn records_of(client: &Client, container_id: &str) -> usize {
    let all = client.attachments(None).expect("the cache can be listed");
    let is_ours = |cached: &&libcni::CachedAttachment| {
        (cached.network_name(), cached.container_id(), cached.ifname()) == ("net1", container_id, "eth0")
    };
    all.iter().filter(is_ours).count()
}

fn client(dir: &Path) -> Client {
    let exec = ScriptedExec::new().otherwise(|call| match call.command().as_str() {
        "ADD" => call.reply(serde_json::json!({"ips": [{"address": "10.1.0.5/16"}]})),
        _ => Reply::nothing(),
    });
    Client::builder().cache_dir(dir).exec(Arc::new(exec)).environment(Environment::default()).build()
}
