//! CHECK and STATUS.

use super::*;

#[test]
fn check_looks_where_the_record_says_whatever_is_asked_for_by_now() {
    let mut host = Host::new();
    host.call(adding("*nat\nCOMMIT\n"), host.add("cid1").capability("portMappings", tcp())).assert_success();
    let check = Invocation::check("cid1", "/run/netns/x", "eth0")
        .config(host.config_with(json!({"backend": "nftables"})))
        .prev_result(prev_result())
        .capability("portMappings", tcp());
    host.call(ScriptedTools::new().success(SAVE, "*nat\nCOMMIT\n"), check).assert_error(999);
}

#[test]
fn status_says_whether_add_could_work() {
    let mut host = Host::new();
    let status = |host: &Host, keys: Value| Invocation::status().config(host.config_with(keys));
    let invocation = status(&host, json!({}));
    host.call(ScriptedTools::new().success(SAVE, ""), invocation).assert_success();

    let invocation = status(&host, json!({}));
    let outcome = host.call(ScriptedTools::new().missing("iptables-save").missing("nft"), invocation);
    assert!(outcome.assert_error(50).msg.starts_with("no port can be forwarded: no usable firewall: "));

    let invocation = status(&host, json!({"backend": "nftables"}));
    host.call(ScriptedTools::new().missing("nft"), invocation).assert_error(50);

    let invocation = status(&host, json!({"dataDir": "/proc/self/none"}));
    host.call(ScriptedTools::new().success(SAVE, ""), invocation).assert_error(50);
}
