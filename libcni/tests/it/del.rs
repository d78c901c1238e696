//! DEL and CHECK: order, what is handed on, and what an unusable cache means.

use std::sync::{Arc, Mutex};

use cni_invoke::testing::{Reply, ScriptedExec};
use cni_types::{Command, ErrorCode};
use libcni::{Network, Observer, Warning};
use serde_json::json;

use crate::support::{Dir, builder, cached, causes, chain, client, network, result, rt, runs};

/// Keeps what is odd.
#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Observer for Warnings {
    fn warning(&self, warning: &Warning) {
        self.0.lock().unwrap().push(warning.to_string());
    }
}

#[test]
fn del_goes_backwards_with_the_result_of_add_and_removes_the_cached_one_at_every_version() {
    for version in ["0.1.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        let (dir, exec) = (
            Dir::new(),
            Arc::new(ScriptedExec::new().otherwise(|call| {
                let address = json!({"address": "10.1.0.5/16", "version": "4"});
                match call.command() {
                    Command::Add => Reply::json(json!({"ips": [address], "ip4": {"ip": "10.1.0.5/16"}})),
                    _ => Reply::nothing(),
                }
            })),
        );
        let (client, network, rt) = (client(&dir, &exec), network(version, &["a", "b"]), rt("c1", "eth0"));
        client.add(&network, &rt).unwrap();
        assert_eq!(dir.names("results"), ["net1-c1-eth0"]);
        client.del(&network, &rt).unwrap();
        assert_eq!(runs(&exec), ["ADD a", "ADD b", "DEL b", "DEL a"]);
        for call in &exec.calls()[2..] {
            let expected = if version < "0.4.0" { json!(null) } else { json!(version) };
            let prev = call.config().get("prevResult").cloned().unwrap_or_default();
            assert_eq!(prev.get("cniVersion").cloned().unwrap_or_default(), expected);
        }
        // C47
        assert_eq!(dir.names("results"), Vec::<String>::new(), "{version}");
    }
}

#[test]
fn c04_an_edited_version_does_not_keep_del_from_its_work() {
    let dir = Dir::with(&[(
        "results/net1-c1-eth0",
        &cached("net1", "c1", "eth0", &json!({"cniVersion": "0.4.0"})),
    )]);
    let exec = Arc::new(chain());
    client(&dir, &exec).del(&network("1.0.1", &["a", "b"]), &rt("c1", "eth0")).unwrap();
    assert_eq!(runs(&exec), ["DEL b", "DEL a"]);
    let config = exec.calls()[0].config();
    assert_eq!(
        (&config["cniVersion"], &config["prevResult"]["cniVersion"]),
        (&json!("0.4.0"), &json!("0.4.0"))
    );
    assert_eq!(dir.names("results"), Vec::<String>::new());

    client(&dir, &exec).del(&network("1.0.1", &["a"]), &rt("c1", "eth0")).unwrap();
    assert_eq!(exec.calls()[2].config(), json!({"cniVersion": "1.0.0", "name": "net1", "type": "a"}));
}

#[test]
fn c05_a_result_of_another_version_is_converted_for_del() {
    let old = json!({"ip4": {"ip": "10.1.0.5/16", "routes": [{"dst": "0.0.0.0/0"}]}, "dns": {}});
    let dir = Dir::with(&[("results/net1-c1-eth0", &cached("net1", "c1", "eth0", &old))]);
    let exec = Arc::new(chain());
    client(&dir, &exec).del(&network("0.4.0", &["a"]), &rt("c1", "eth0")).unwrap();
    let prev = exec.calls()[0].config()["prevResult"].clone();
    assert_eq!(prev["ips"], json!([{"version": "4", "address": "10.1.0.5/16"}]));
    assert_eq!(prev["routes"], json!([{"dst": "0.0.0.0/0"}]));
}

#[test]
fn c40_a_configuration_without_a_version_is_of_0_1_0_and_sent_without_one() {
    let network = Network::from_list(br#"{"name":"net1","plugins":[{"type":"noop"}]}"#).unwrap();
    let exec = Arc::new(ScriptedExec::new().otherwise(|call| match call.command() {
        Command::Add => Reply::json(json!({"ip4": {"ip": "10.1.0.5/16"}})),
        _ => Reply::nothing(),
    }));
    let dir = Dir::new();
    let (client, rt) = (client(&dir, &exec), rt("c1", "eth0"));
    assert_eq!(client.add(&network, &rt).unwrap().version().as_str(), "0.1.0");
    let error = client.check(&network, &rt).unwrap_err();
    assert_eq!(error.to_string(), r#"configuration version "" does not support the CHECK command"#);
    assert_eq!(error.code(), ErrorCode::INCOMPATIBLE_CNI_VERSION);
    client.del(&network, &rt).unwrap();
    assert_eq!(exec.calls()[1].config(), json!({"name": "net1", "type": "noop"}));
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c47_the_cached_result_stays_until_del_succeeds() {
    let file = cached("net1", "c1", "eth0", &result("1.0.0", "10.1.0.5/16"));
    let dir = Dir::with(&[("results/net1-c1-eth0", &file)]);
    let failing = Arc::new(ScriptedExec::new().plugin("a", |_| Reply::error(ErrorCode::IO_FAILURE, "no")));
    let (network, rt) = (network("1.0.0", &["a"]), rt("c1", "eth0"));
    client(&dir, &failing).del(&network, &rt).unwrap_err();
    assert_eq!(dir.read("results/net1-c1-eth0"), file);
    client(&dir, &Arc::new(chain())).del(&network, &rt).unwrap();
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c48_del_of_what_was_never_added_runs_the_plugins_without_a_result() {
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    client(&dir, &exec).del(&network("1.0.0", &["a", "b"]), &rt("c1", "eth0")).unwrap();
    assert_eq!(runs(&exec), ["DEL b", "DEL a"]);
    assert!(exec.calls().iter().all(|call| call.config().get("prevResult").is_none()));
}

#[test]
fn c50_del_stops_at_the_first_failure() {
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("fails", |_| Reply::error(ErrorCode::new(142), "busy"))
            .otherwise(|_| Reply::nothing()),
    );
    let dir = Dir::new();
    let error =
        client(&dir, &exec).del(&network("1.0.0", &["ok1", "ok2", "fails"]), &rt("c1", "eth0")).unwrap_err();
    assert_eq!(runs(&exec), ["DEL fails"]);
    assert_eq!(error.code().value(), 142);
}

#[test]
fn a_cache_that_cannot_be_used_does_not_keep_del_from_its_work() {
    let result = result("1.0.0", "10.1.0.5/16");
    for (name, content) in [
        ("results/net1-c1-eth0", "not json"),
        ("results/net1-c1-eth0", "null"),
        ("results/net1-c1-eth0", &cached("net1", "c1", "eth0", &json!(null))),
        ("results/net1-c1-eth0", &cached("net1", "c1", "eth0", &json!({"cniVersion": "9.9.9"}))),
        ("results/net1-c1-eth0/x", ""),
        ("results", "a file"),
        (".libcni-locks", "a file"),
    ] {
        let (dir, exec, warnings) =
            (Dir::with(&[(name, content)]), Arc::new(chain()), Arc::new(Warnings::default()));
        let client = builder(&dir, &exec).observer(warnings.clone()).build();
        client.del(&network("1.0.0", &["a"]), &rt("c1", "eth0")).unwrap();
        assert_eq!(runs(&exec), ["DEL a"]);
        assert!(exec.calls()[0].config().get("prevResult").is_none());
        assert!(!warnings.0.lock().unwrap().is_empty(), "{name} {content}");
        let others = cached("net1", "other", "eth0", &result);
        assert!(!dir.names("results").contains(&"net1-c1-eth0".to_owned()) || content.is_empty(), "{others}");
    }
}

#[test]
fn another_attachments_file_is_neither_used_nor_removed() {
    let file = cached("net1", "zzz", "eth0", &result("1.0.0", "10.1.0.5/16"));
    let dir = Dir::with(&[("results/net1-c1-eth0", &file)]);
    let exec = Arc::new(chain());
    let (client, network, rt) = (client(&dir, &exec), network("1.0.0", &["a"]), rt("c1", "eth0"));
    let error = client.check(&network, &rt).unwrap_err();
    assert!(error.to_string().ends_with("net1-c1-eth0 is another attachment's"), "{error}");
    assert!(client.cached_result(&network, &rt).unwrap().is_none());
    client.del(&network, &rt).unwrap();
    assert!(exec.calls()[0].config().get("prevResult").is_none());
    client.add(&network, &rt).unwrap();
    assert_eq!(dir.read("results/net1-c1-eth0"), file);
    assert!(client.cached_result(&network, &rt).unwrap().is_some());
}

#[test]
fn check_gives_each_plugin_the_cached_result_and_stops_at_the_first_failure() {
    let dir = Dir::with(&[(
        "results/net1-c1-eth0",
        &cached("net1", "c1", "eth0", &result("0.4.0", "10.1.0.5/16")),
    )]);
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("b", |_| Reply::error(ErrorCode::new(100), "gone"))
            .otherwise(|_| Reply::nothing()),
    );
    let error =
        client(&dir, &exec).check(&network("1.0.0", &["a", "b", "c"]), &rt("c1", "eth0")).unwrap_err();
    assert_eq!((runs(&exec), error.code().value()), (vec!["CHECK a".to_owned(), "CHECK b".to_owned()], 100));
    assert_eq!(exec.calls()[1].config()["prevResult"]["cniVersion"], "1.0.0");
    assert_eq!(dir.names("results"), ["net1-c1-eth0"]);
}

#[test]
fn check_needs_a_good_cached_result_and_says_why_there_is_none() {
    let (network, rt) = (network("1.0.0", &["a"]), rt("c1", "eth0"));
    let told = |content: Option<&str>| {
        let dir = match content {
            Some(content) => Dir::with(&[("results/net1-c1-eth0", content)]),
            None => Dir::new(),
        };
        let exec = Arc::new(chain());
        let error = client(&dir, &exec).check(&network, &rt).unwrap_err();
        assert_eq!(runs(&exec), Vec::<String>::new());
        causes(&error).replace(&dir.path().display().to_string(), "DIR")
    };
    insta::assert_snapshot!(told(None), @r#"network "net1": no cached result of container "c1" on "eth0": there is none in DIR/results"#);
    insta::assert_snapshot!(told(Some("nonsense")), @r#"network "net1": no cached result of container "c1" on "eth0": cannot use DIR/results/net1-c1-eth0: expected ident at line 1 column 2"#);
    insta::assert_snapshot!(told(Some(r#"{"kind":"cniCacheV2"}"#)), @r#"network "net1": no cached result of container "c1" on "eth0": cannot use DIR/results/net1-c1-eth0: unknown kind "cniCacheV2", expected "cniCacheV1""#);
}

#[test]
fn disable_check_wins_over_everything() {
    let list = br#"{"cniVersion":"0.3.1","name":"net1","disableCheck":"TRUE","plugins":[{"type":"a"}]}"#;
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    client(&dir, &exec).check(&Network::from_list(list).unwrap(), &rt("c1", "eth0")).unwrap();
    assert_eq!(runs(&exec), Vec::<String>::new());
}

#[test]
fn files_that_go_wrote_are_used() {
    let go = include_str!("../data/cache/go-v1-1.1.0.json");
    let dir = Dir::with(&[("results/net1-c1-eth0", go)]);
    let exec = Arc::new(chain());
    let (client, rt) = (client(&dir, &exec), rt("c1", "eth0"));
    let attachment = client.attachments(Some("c1")).unwrap().remove(0);
    let network = attachment.network().unwrap();
    assert_eq!(attachment.runtime_conf().unwrap().args().to_string(), "K8S_POD_NAME=pod;IgnoreUnknown=1");
    client.check(&network, &rt).unwrap();
    client.del(&network, &attachment.runtime_conf().unwrap()).unwrap();
    assert_eq!(runs(&exec), ["CHECK a", "CHECK b", "CHECK c", "DEL c", "DEL b", "DEL a"]);
    assert_eq!(exec.calls()[0].config()["prevResult"]["interfaces"][0]["mtu"], 1450);
    assert_eq!(dir.names("results"), Vec::<String>::new());

    let dir = Dir::with(&[("results/net1-c1-eth0", include_str!("../data/cache/go-legacy-0.2.0.json"))]);
    let exec = Arc::new(chain());
    crate::support::client(&dir, &exec).check(&crate::support::network("0.4.0", &["a"]), &rt).unwrap();
    assert_eq!(exec.calls()[0].config()["prevResult"]["ips"][0]["address"], "10.1.0.5/16");
}

#[test]
fn files_that_containerd_and_podman_wrote_are_used() {
    let podman = "c9ae42d906b75322b6619b8c89866ba3454bdb6ed8b9760e7333255b374355ea";
    for (file, id, args, mapped) in [
        (include_str!("../data/cache/containerd-1.6.20.json"), "default-c1", "", json!(null)),
        (
            include_str!("../data/cache/podman-4.3.1.json"),
            podman,
            "IgnoreUnknown=1;K8S_POD_NAME=confident_lichterman",
            json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]),
        ),
    ] {
        let dir = Dir::with(&[(&format!("results/mynet-{id}-eth0"), file)]);
        let exec = Arc::new(chain());
        let client = client(&dir, &exec);
        let attachment = client.attachments(Some(id)).unwrap().remove(0);
        let (network, rt) = (attachment.network().unwrap(), attachment.runtime_conf().unwrap());
        client.check(&network, &rt).unwrap();
        client.del(&network, &rt).unwrap();
        assert_eq!(runs(&exec), ["CHECK bridge", "CHECK portmap", "DEL portmap", "DEL bridge"]);
        let del = &exec.calls()[2];
        assert_eq!(del.var("CNI_ARGS").unwrap(), args);
        assert_eq!(del.config()["prevResult"]["ips"][0]["address"], "10.244.1.2/24");
        assert_eq!(del.config()["runtimeConfig"]["portMappings"], mapped);
        assert_eq!(dir.names("results"), Vec::<String>::new());

        dir.write(&format!("results/mynet-{id}-eth0"), file);
        assert_eq!(client.gc(&network, &[]).unwrap().deleted, [attachment.attachment()]);
        assert_eq!(dir.names("results"), Vec::<String>::new());
    }
}

#[test]
fn the_cached_configuration_tears_down_what_the_files_no_longer_say() {
    let dir = Dir::with(&[
        (
            "net.d/10-n1.conflist",
            r#"{"cniVersion":"1.0.0","name":"n1","x":1.0,"plugins":[{"type":"a","y":1e3}]}"#,
        ),
        ("net.d/n1/b.conf", r#"{"type":"b","z":12345678901234567890}"#),
    ]);
    let exec = Arc::new(chain());
    let client = client(&dir, &exec);
    client.add(&Network::load(dir.join("net.d"), "n1").unwrap(), &rt("c1", "eth0")).unwrap();
    std::fs::remove_dir_all(dir.join("net.d")).unwrap();

    let attachment = client.attachments(None).unwrap().remove(0);
    assert_eq!(
        std::str::from_utf8(attachment.config()).unwrap(),
        r#"{"cniVersion":"1.0.0","name":"n1","loadOnlyInlinedPlugins":true,"plugins":[{"type":"a","y":1e3},{"type":"b","z":12345678901234567890}],"x":1.0}"#
    );
    client.del(&attachment.network().unwrap(), &attachment.runtime_conf().unwrap()).unwrap();
    assert_eq!(runs(&exec), ["ADD a", "ADD b", "DEL b", "DEL a"]);
    assert_eq!(dir.names("results"), Vec::<String>::new());
}
