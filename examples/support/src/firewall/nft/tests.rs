use super::*;
use crate::testing::ScriptedTools;

const LIST: &str = "nft -j -t list table ip cni_hostport";

#[test]
fn a_script_is_one_call() {
    let tools = ScriptedTools::new().success("nft -f -", "");
    Nft::new(&tools).run("add table ip x\n").unwrap();
    Nft::new(&tools).run(" \n").unwrap();
    tools.assert_done();
    assert_eq!(tools.stdins(), ["add table ip x\n"]);
}

#[test]
fn commands_are_one_call() {
    let tools = ScriptedTools::new().success("nft -j -f -", "");
    let command = serde_json::json!({"add": {"table": {"family": "ip", "name": "a b\"c"}}});
    Nft::new(&tools).run_json(std::slice::from_ref(&command)).unwrap();
    Nft::new(&tools).run_json(&[]).unwrap();
    tools.assert_done();
    let document: Value = serde_json::from_str(&tools.stdins()[0]).unwrap();
    assert_eq!(document, serde_json::json!({"nftables": [command]}));
}

#[test]
fn a_refusal_quotes_stderr() {
    let stderr = "/dev/stdin:1:1-3: Error: syntax error, unexpected string\nfoo\n^^^\n";
    let tools = ScriptedTools::new().failure("nft -f -", stderr);
    let error = Nft::new(&tools).run("foo").unwrap_err();
    assert_eq!(error.to_string(), format!("failed to run nft -f -: exit status: 1: {}", stderr.trim()));
}

#[test]
fn a_table_is_read_with_handles_and_comments() {
    let json = r#"{"nftables": [
        {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
        {"table": {"family": "ip", "name": "cni_hostport", "handle": 2}},
        {"chain": {"family": "ip", "table": "cni_hostport", "name": "hostports", "handle": 1}},
        {"chain": {"family": "ip", "table": "cni_hostport", "name": "prerouting", "handle": 4,
                   "type": "nat", "hook": "prerouting", "prio": -100, "policy": "accept"}},
        {"rule": {"family": "ip", "table": "cni_hostport", "chain": "hostports", "handle": 7, "comment": "c1",
                  "expr": [{"counter": {"packets": 0, "bytes": 0}}]}},
        {"rule": {"family": "ip", "table": "cni_hostport", "chain": "prerouting", "handle": 9, "expr": []}}]}"#;
    let tools = ScriptedTools::new().success(LIST, json);
    let table = Nft::new(&tools).table("ip", "cni_hostport").unwrap().unwrap();
    assert!(table.has_chain("hostports") && !table.has_chain("output"));
    assert_eq!((table.chains[1].hook.as_deref(), table.chains[1].priority), (Some("prerouting"), Some(-100)));
    let handles: Vec<_> = table.commented("c1").map(|rule| (rule.chain.as_str(), rule.handle)).collect();
    assert_eq!(handles, [("hostports", 7)]);
    assert_eq!(table.rules[1].comment, None);
}

#[test]
fn sets_are_read_with_their_elements() {
    let json = r#"{"nftables": [
        {"set": {"family": "inet", "name": "empty", "table": "t", "type": "ipv4_addr", "handle": 1}},
        {"set": {"family": "inet", "name": "pairs", "table": "t", "type": ["ifname", "ifname"], "handle": 2,
                 "elem": [{"concat": ["br0", "br0"]}]}},
        {"set": {"family": "inet", "name": "addresses", "table": "t", "type": "ipv4_addr", "handle": 3,
                 "elem": ["10.2.0.2", {"elem": {"val": "10.2.0.3", "comment": "c1"}}]}}]}"#;
    let tools = ScriptedTools::new().success("nft -j list table inet t", json);
    let table = Nft::new(&tools).table_and_elements("inet", "t").unwrap().unwrap();
    let element =
        |value: Value, comment: Option<&str>| Element { value, comment: comment.map(str::to_owned) };
    assert_eq!(table.set("empty").unwrap().elements, []);
    assert_eq!(table.set("none"), None);
    let pair = serde_json::json!({"concat": ["br0", "br0"]});
    assert_eq!(table.set("pairs").unwrap().elements, [element(pair, None)]);
    let addresses = [element("10.2.0.2".into(), None), element("10.2.0.3".into(), Some("c1"))];
    assert_eq!(table.set("addresses").unwrap().elements, addresses);
}

#[test]
fn chains_that_drop_are_told() {
    let chain = |family: &str, name: &str, hook: &str, policy: &str| {
        serde_json::json!({"chain": {
            "family": family, "table": "filter", "name": name, "handle": 1, "type": "filter", "hook": hook, "prio": 0,
            "policy": policy,
        }})
    };
    let document = serde_json::json!({"nftables": [
        {"metainfo": {"version": "1.0.6"}},
        chain("ip", "FORWARD", "forward", "drop"), chain("ip6", "FORWARD", "forward", "accept"),
        chain("inet", "in", "input", "drop"), {"chain": {"family": "ip", "table": "filter", "name": "x", "handle": 2}},
    ]});
    let tools = ScriptedTools::new()
        .success("nft -j list chains", &document.to_string())
        .failure("nft -j list chains", "no\n");
    assert_eq!(Nft::new(&tools).dropping("forward").unwrap(), ["ip filter FORWARD"]);
    Nft::new(&tools).dropping("forward").unwrap_err();
}

#[test]
fn a_missing_table_is_none_and_anything_else_an_error() {
    let tools = ScriptedTools::new()
        .failure(LIST, "Error: No such file or directory\nlist table ip cni_hostport\n")
        .failure(LIST, "netlink: Error: cache initialization failed: Operation not permitted\n")
        .success(LIST, "{")
        .success(LIST, r#"{"nftables": [{"rule": {"chain": "x"}}]}"#);
    let nft = Nft::new(&tools);
    assert_eq!(nft.table("ip", "cni_hostport").unwrap(), None);
    let texts = [
        "exit status: 1: netlink: Error: cache initialization failed: Operation not permitted",
        "EOF while parsing an object at line 1 column 1",
        "a rule without handle",
    ];
    for text in texts {
        let error = nft.table("ip", "cni_hostport").unwrap_err();
        assert_eq!(error.to_string(), format!("failed to run {LIST}: {text}"));
    }
}

#[test]
fn a_text_never_ends_early() {
    assert_eq!(quoted("").unwrap(), "\"\"");
    for text in ["a\"b", "a\nb", "a\0b"] {
        assert!(quoted(text).is_err());
    }
}
