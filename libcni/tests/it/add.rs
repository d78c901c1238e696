//! ADD: order, what is handed on, what is cached, what happens when something fails.

use std::sync::Arc;
use std::time::Duration;

use cni_invoke::testing::{Reply, ScriptedExec};
use cni_types::{Command, ErrorCode};
use libcni::{CancelToken, Error, Interruption, Network, Until};
use serde_json::json;

use crate::support::{Dir, builder, causes, chain, client, network, result, rt, runs};

#[test]
fn each_plugin_is_given_the_result_of_the_one_before_and_the_last_is_cached() {
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    let result = client(&dir, &exec).add(&network("1.0.0", &["a", "b", "c"]), &rt("c1", "eth0")).unwrap();
    assert_eq!(runs(&exec), ["ADD a", "ADD b", "ADD c"]);
    let calls = exec.calls();
    assert_eq!(calls[0].config(), json!({"cniVersion": "1.0.0", "name": "net1", "type": "a"}));
    let prev =
        json!({"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.1/24"}, {"address": "10.0.0.2/24"}]});
    assert_eq!(calls[2].config()["prevResult"], prev);
    for (name, value) in [
        ("CNI_COMMAND", "ADD"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_NETNS", "/run/netns/c1"),
        ("CNI_ARGS", ""),
        ("CNI_PATH", "/opt/cni/bin"),
    ] {
        assert_eq!(calls[0].var(name).unwrap(), value, "{name}");
    }
    assert_eq!(result.clone().into_add_result().ips.len(), 3);
    assert_eq!(dir.names("results"), ["net1-c1-eth0"]);
    let cached: serde_json::Value = serde_json::from_str(&dir.read("results/net1-c1-eth0")).unwrap();
    assert_eq!(cached["result"], serde_json::to_value(&result).unwrap());
}

#[test]
fn c01_a_result_without_a_version_is_of_the_configurations() {
    for version in [json!(null), json!(""), json!("0.3.0")] {
        let mut first =
            json!({"ips": [{"version": "4", "address": "10.40.0.3/12", "gateway": "10.40.0.1"}], "dns": {}});
        if !version.is_null() {
            first["cniVersion"] = version;
        }
        let exec = Arc::new(
            ScriptedExec::new()
                .plugin("weave-net", move |_| Reply::json(&first))
                .plugin("portmap", |call| Reply::json(&call.config()["prevResult"])),
        );
        let dir = Dir::new();
        let result =
            client(&dir, &exec).add(&network("0.3.0", &["weave-net", "portmap"]), &rt("c1", "eth0")).unwrap();
        assert_eq!(exec.calls()[1].config()["prevResult"]["cniVersion"], "0.3.0");
        assert_eq!((result.version().as_str(), result.into_add_result().ips.len()), ("0.3.0", 1));
    }
}

#[test]
fn c04_c06_a_version_that_nobody_knows_is_refused_before_anything_is_run() {
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    let (client, network, rt) = (client(&dir, &exec), network("1.0.1", &["a"]), rt("c1", "eth0"));
    let error = client.add(&network, &rt).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": ADD was not executed: configuration version "1.0.1" is not supported, expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"#);
    assert_eq!(error.code(), ErrorCode::INCOMPATIBLE_CNI_VERSION);
    assert!(!error.was_executed());
    assert!(
        client.check(&network, &rt).is_err()
            && client.status(&network).is_err()
            && client.gc(&network, &[]).is_err()
    );
    assert_eq!(runs(&exec), Vec::<String>::new());
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c25_an_error_says_which_plugin_did_what_and_keeps_its_code() {
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("b", |_| Reply::error(ErrorCode::new(100), "nope"))
            .otherwise(|_| Reply::json(json!({}))),
    );
    let dir = Dir::new();
    let (client, network, rt) =
        (client(&dir, &exec), network("1.0.0", &["a", "b", "c", "d", "e"]), rt("c1", "eth0"));
    let error = client.add(&network, &rt).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": plugin type="b" failed (add): plugin "b" (/opt/cni/bin/b) failed ADD with exit status 1: nope (code 100)"#);
    assert_eq!((error.code().value(), error.network()), (100, "net1"));
    let plugin_error = error.plugin_error().unwrap();
    assert_eq!((plugin_error.plugin().as_str(), plugin_error.command()), ("b", Command::Add));
    assert_eq!(runs(&exec), ["ADD a", "ADD b"]);
    let error = client.del(&network, &rt).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": plugin type="b" failed (delete): plugin "b" (/opt/cni/bin/b) failed DEL with exit status 1: nope (code 100)"#);
    assert_eq!(error.error_object().unwrap().code().value(), 100);
}

#[test]
fn c28_an_absent_plugin_is_told_with_the_directories_that_were_searched() {
    let dir = Dir::new();
    let exec = Arc::new(ScriptedExec::new());
    let client = builder(&dir, &exec).plugin_dirs(["/opt/a", "", "rel"]).build();
    let error = client.add(&network("1.0.0", &["bridge"]), &rt("c1", "eth0")).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": plugin type="bridge" failed (add): plugin "bridge" was not executed for ADD: failed to find plugin "bridge" in path [/opt/a  rel]: "/opt/a" (no such file), "" (not searched, an empty element names no directory), "rel" (not searched, a directory must be absolute)"#);
    assert!(!error.was_executed());
    let client = builder(&dir, &exec).plugin_dirs(Vec::<String>::new()).build();
    let error = client.add(&network("1.0.0", &["bridge"]), &rt("c1", "eth0")).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": plugin type="bridge" failed (add): plugin "bridge" was not executed for ADD: failed to find plugin "bridge" in path []: no directory to search was given (CNI_PATH is empty or not set)"#);
}

#[test]
fn c49_a_failed_add_caches_nothing_and_one_call_cleans_up() {
    let exec = || {
        Arc::new(
            ScriptedExec::new()
                .on("b", Command::Add, |_| Reply::error(ErrorCode::TRY_AGAIN, "later"))
                .otherwise(|_| Reply::json(json!({}))),
        )
    };
    let (dir, by_hand) = (Dir::new(), exec());
    let (network, rt) = (network("1.0.0", &["a", "b", "c"]), rt("c1", "eth0"));
    let error = client(&dir, &by_hand).add(&network, &rt).unwrap_err();
    assert!(error.was_executed());
    assert_eq!(runs(&by_hand), ["ADD a", "ADD b"]);
    assert_eq!(dir.names("results"), Vec::<String>::new());

    let at_once = exec();
    let error = client(&dir, &at_once).add_or_undo(&network, &rt).unwrap_err();
    assert!(error.error_object().unwrap().is_try_again());
    assert_eq!(runs(&at_once), ["ADD a", "ADD b", "DEL c", "DEL b", "DEL a"]);
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn an_undo_that_fails_keeps_both_errors() {
    let exec = Arc::new(
        ScriptedExec::new()
            .on("a", Command::Add, |_| Reply::error(ErrorCode::new(7), "bad"))
            .on("a", Command::Del, |_| Reply::error(ErrorCode::new(5), "worse"))
            .otherwise(|_| Reply::nothing()),
    );
    let dir = Dir::new();
    let error = client(&dir, &exec).add_or_undo(&network("1.0.0", &["a"]), &rt("c1", "eth0")).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": plugin type="a" failed (add): plugin "a" (/opt/cni/bin/a) failed ADD with exit status 1: bad (code 7); and DEL did not undo it: network "net1": plugin type="a" failed (delete): plugin "a" (/opt/cni/bin/a) failed DEL with exit status 1: worse (code 5)"#);
    assert_eq!(error.code().value(), 7);
    // GC will call DEL again.
    assert_eq!(dir.names("results"), ["~4.2.net1-c1-eth0"]);
    assert_eq!(client(&dir, &exec).attachments(None).unwrap().len(), 1);
}

#[test]
fn nothing_is_undone_when_nothing_was_run() {
    let (dir, exec) = (Dir::new(), Arc::new(ScriptedExec::new()));
    let error = client(&dir, &exec).add_or_undo(&network("1.0.0", &["a"]), &rt("c1", "eth0")).unwrap_err();
    assert!(!error.was_executed());
    assert_eq!(runs(&exec), Vec::<String>::new());
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c27_a_bound_that_has_passed_is_told_as_not_executed_and_the_undo_has_a_fresh_one() {
    let token = CancelToken::new().unwrap();
    let cancelled = token.clone();
    let exec = Arc::new(
        ScriptedExec::new()
            .on("b", Command::Add, move |_| {
                cancelled.cancel();
                Reply::interrupted(Interruption::Cancelled)
            })
            .otherwise(|_| Reply::json(json!({}))),
    );
    let dir = Dir::new();
    let (client, network, rt) = (client(&dir, &exec), network("1.0.0", &["a", "b"]), rt("c1", "eth0"));
    let bounded = client.with_until(Until::timeout(Duration::from_secs(600)).or_cancelled(&token));
    let error = bounded.add_or_undo(&network, &rt).unwrap_err();
    assert_eq!(error.interruption(), Some(Interruption::Cancelled));
    assert_eq!(runs(&exec), ["ADD a", "ADD b", "DEL b", "DEL a"]);

    let error = bounded.del(&network, &rt).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": DEL was not executed: the caller cancelled"#);
    assert!(!error.was_executed());
    client.del(&network, &rt).unwrap();
}

#[test]
fn a_result_of_another_version_is_converted_for_everybody() {
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("a", |_| Reply::json(result("1.0.0", "10.1.0.5/16")))
            .plugin("b", |call| Reply::json(&call.config()["prevResult"])),
    );
    let dir = Dir::new();
    let result = client(&dir, &exec).add(&network("0.4.0", &["a", "b"]), &rt("c1", "eth0")).unwrap();
    assert_eq!(exec.calls()[1].config()["prevResult"]["ips"][0]["version"], "4");
    assert_eq!(result.version().as_str(), "0.4.0");
    assert!(dir.read("results/net1-c1-eth0").contains(r#""cniVersion":"0.4.0""#));
}

#[test]
fn a_result_that_the_version_cannot_express_names_the_plugin() {
    let exec = Arc::new(ScriptedExec::new().plugin("a", |_| Reply::json(json!({"cniVersion": "1.0.0"}))));
    let dir = Dir::new();
    let error = client(&dir, &exec).add(&network("0.2.0", &["a"]), &rt("c1", "eth0")).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": plugin type="a" failed (add): its result is of another version: cannot convert: no valid IP addresses (result 1.0.0 to 0.2.0, which needs an IPv4 or IPv6 address)"#);
    assert!(error.was_executed());
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn the_cache_is_proved_to_be_writable_before_the_first_plugin() {
    let (dir, exec) = (Dir::with(&[("results", "a file")]), Arc::new(chain()));
    let error = client(&dir, &exec).add(&network("1.0.0", &["a"]), &rt("c1", "eth0")).unwrap_err();
    let text = causes(&error).replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(text, @r#"network "net1": ADD was not executed, because the cache in DIR cannot be used: DIR/results is no directory"#);
    assert!(!error.was_executed());
    assert_eq!(runs(&exec), Vec::<String>::new());
}

#[test]
fn a_result_that_cannot_be_cached_in_the_end_is_in_the_error() {
    let dir = Arc::new(Dir::new());
    let place = dir.join("results/net1-c1-eth0/x");
    let exec = Arc::new(ScriptedExec::new().plugin("a", move |_| {
        std::fs::create_dir_all(&place).unwrap();
        Reply::json(result("1.0.0", "10.1.0.5/16"))
    }));
    let error = client(&dir, &exec).add(&network("1.0.0", &["a"]), &rt("c1", "eth0")).unwrap_err();
    assert!(error.to_string().ends_with(": call DEL"), "{error}");
    let Error::AddNotCached { result, .. } = error else { panic!("{error}") };
    assert_eq!(result.into_add_result().ips.len(), 1);
}

#[test]
fn c44_only_declared_capabilities_reach_a_plugin_by_add_check_and_del() {
    let list = json!({"cniVersion": "1.0.0", "name": "net1", "plugins": [
        {"type": "a", "capabilities": {"portMappings": true}},
        {"type": "b", "capabilities": {"portMappings": false}},
        {"type": "c"},
    ]});
    let network = Network::from_list(list.to_string().as_bytes()).unwrap();
    let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
    let rt = rt("c1", "eth0")
        .with_capability("portMappings", &mappings)
        .unwrap()
        .with_capability("mac", &"x")
        .unwrap();
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    let client = client(&dir, &exec);
    client.add(&network, &rt).unwrap();
    client.check(&network, &rt).unwrap();
    client.del(&network, &rt).unwrap();
    for call in exec.calls() {
        let expected = if call.plugin() == "a" { json!({"portMappings": mappings}) } else { json!(null) };
        assert_eq!(call.config().get("runtimeConfig").cloned().unwrap_or_default(), expected);
        assert!(call.config().get("capabilities").is_none());
    }
    assert_eq!(exec.calls().len(), 9);
}

#[test]
fn nothing_is_inherited_but_what_the_caller_says() {
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    let inherited = [("PATH", "/bin"), ("CNI_ARGS", "OLD=1"), ("TRACEPARENT", "old")];
    let client = builder(&dir, &exec).environment(inherited.into_iter().collect()).build();
    let rt = rt("c1", "eth0").with_arg("A", "x=y").unwrap();
    client.add(&network("1.0.0", &["a"]), &rt).unwrap();
    client.with_trace(libcni::Trace::new("new")).add(&network("1.0.0", &["a"]), &rt).unwrap();
    let var = |at: usize, name: &str| exec.calls()[at].var(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        (var(0, "PATH"), var(0, "CNI_ARGS"), var(0, "TRACEPARENT")),
        ("/bin".into(), "A=x=y".into(), "old".into())
    );
    assert_eq!(var(1, "TRACEPARENT"), "new");
}

#[test]
fn c96_a_trace_reaches_every_plugin_of_a_chain_and_none_is_made_up() {
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    let (client, network, rt) = (client(&dir, &exec), network("1.0.0", &["a", "b"]), rt("c1", "eth0"));
    let mut trace = libcni::Trace::new("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    trace.baggage = Some("pod=web".to_owned());
    client.with_trace(trace.clone()).add(&network, &rt).unwrap();
    client.del(&network, &rt).unwrap();
    let calls = exec.calls();
    let told = |at: usize| {
        ["TRACEPARENT", "TRACESTATE", "BAGGAGE"]
            .map(|name| calls[at].var(name).map(|value| value.to_str().unwrap().to_owned()))
    };
    for at in [0, 1] {
        assert_eq!(told(at), [Some(trace.parent.clone()), None, trace.baggage.clone()]);
        assert_eq!(told(at + 2), [None, None, None]);
    }
}
