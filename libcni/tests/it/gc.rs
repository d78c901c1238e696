//! GC, STATUS and the attachments of a cache.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cni_invoke::testing::{Reply, ScriptedExec};
use cni_types::{Command, ErrorCode};
use libcni::{Attachment, CancelToken, Error, Network, Until};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{Dir, builder, cached, causes, chain, client, network, result, rt, runs};

fn dir_with(attachments: &[(&str, &str, &str)]) -> Dir {
    let dir = Dir::new();
    for (network, container_id, ifname) in attachments {
        let file = cached(network, container_id, ifname, &result("1.0.0", "10.1.0.5/16"));
        dir.write(&format!("results/{network}-{container_id}-{ifname}"), file);
    }
    dir
}

#[test]
fn stale_attachments_are_deleted_with_the_parameters_of_their_add_and_then_plugins_are_told() {
    let dir = Dir::new();
    let exec = Arc::new(chain());
    let client = builder(&dir, &exec).parallelism(NonZeroUsize::MIN).build();
    let network = network("1.1.0", &["a", "b"]);
    for id in ["c1", "c2", "c3"] {
        client.add(&network, &rt(id, "eth0").with_arg("ID", id).unwrap()).unwrap();
    }
    dir.write("results/net2-c9-eth0", cached("net2", "c9", "eth0", &json!({})));
    let before = exec.calls().len();
    let valid =
        [Attachment::new("c2", "eth0"), Attachment::new("c3", "eth1"), Attachment::new("gone", "eth0")];
    let report = client.gc(&network, &valid).unwrap();
    assert_eq!(report.deleted, [Attachment::new("c1", "eth0"), Attachment::new("c3", "eth0")]);
    assert_eq!(runs(&exec)[before..], ["DEL b", "DEL a", "DEL b", "DEL a", "GC a", "GC b"]);
    let calls = &exec.calls()[before..];
    assert_eq!(calls[0].var("CNI_ARGS").unwrap(), "ID=c1");
    assert_eq!(calls[2].var("CNI_NETNS").unwrap(), "/run/netns/c3");
    assert_eq!(calls[2].config()["prevResult"]["cniVersion"], "1.1.0");
    let told = json!([{"containerID": "c2", "ifname": "eth0"}, {"containerID": "c3", "ifname": "eth1"}, {"containerID": "gone", "ifname": "eth0"}]);
    assert_eq!(calls[4].config()["cni.dev/valid-attachments"], told);
    assert_eq!(calls[4].config()["cni.dev/attachments"], told);
    assert_eq!(calls[4].var("CNI_CONTAINERID").unwrap(), "");
    assert_eq!(dir.names("results"), ["net1-c2-eth0", "net2-c9-eth0"]);
}

#[test]
fn c45_gc_empties_the_cache_of_a_thousand_forgotten_attachments() {
    let dir = Dir::new();
    for number in 0..1000 {
        let id = format!("c{number}");
        dir.write(&format!("results/net1-{id}-lo"), cached("net1", &id, "lo", &json!({})));
    }
    let exec = Arc::new(chain());
    let report = client(&dir, &exec).gc(&network("1.0.0", &["loopback"]), &[]).unwrap();
    assert_eq!((report.deleted.len(), exec.calls().len()), (1000, 1000));
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c51_both_keys_are_sent_even_for_an_empty_list() {
    let (dir, exec) = (Dir::new(), Arc::new(chain()));
    client(&dir, &exec).gc(&network("1.1.0", &["a"]), &[]).unwrap();
    assert_eq!(
        exec.calls()[0].config(),
        json!({"cniVersion": "1.1.0", "name": "net1", "type": "a", "cni.dev/valid-attachments": [], "cni.dev/attachments": []})
    );
}

#[test]
fn c52_disable_gc_means_nothing_is_run() {
    let list = br#"{"cniVersion":"1.1.0","name":"net1","disableGC":true,"plugins":[{"type":"a"}]}"#;
    let (dir, exec) = (dir_with(&[("net1", "c1", "eth0")]), Arc::new(chain()));
    client(&dir, &exec).gc(&Network::from_list(list).unwrap(), &[]).unwrap();
    assert_eq!(runs(&exec), Vec::<String>::new());
    assert_eq!(dir.names("results"), ["net1-c1-eth0"]);
}

#[test]
fn gc_goes_on_past_failures_and_tells_them_all() {
    let exec = Arc::new(
        ScriptedExec::new()
            .on("b", Command::Del, |call| match call.var("CNI_CONTAINERID").unwrap().to_str() {
                Some("c1") => Reply::error(ErrorCode::TRY_AGAIN, "later"),
                _ => Reply::nothing(),
            })
            .on("a", Command::Gc, |_| Reply::error(ErrorCode::new(100), "cannot"))
            .otherwise(|_| Reply::nothing()),
    );
    let dir = dir_with(&[("net1", "c1", "eth0"), ("net1", "c1", "eth1"), ("net1", "c2", "eth0")]);
    let client = builder(&dir, &exec).parallelism(NonZeroUsize::MIN).build();
    let error = client.gc(&network("1.1.0", &["a", "b"]), &[]).unwrap_err();
    insta::assert_snapshot!(causes(&error), @r#"network "net1": GC failed in part: cannot delete the stale attachment of container "c1" on "eth0": network "net1": plugin type="b" failed (delete): plugin "b" (/opt/cni/bin/b) failed DEL with exit status 1: later (code 11); cannot delete the stale attachment of container "c1" on "eth1": network "net1": plugin type="b" failed (delete): plugin "b" (/opt/cni/bin/b) failed DEL with exit status 1: later (code 11); network "net1": plugin type="a" failed (gc): plugin "a" (/opt/cni/bin/a) failed GC with exit status 1: cannot (code 100)"#);
    assert_eq!(error.all().count(), 3);
    assert_eq!(error.code(), ErrorCode::TRY_AGAIN);
    let codes: Vec<_> = error.all().map(|error| error.code().value()).collect();
    assert_eq!(codes, [11, 11, 100]);
    let Error::Gc { deleted, .. } = error else { panic!("{error}") };
    assert_eq!(deleted, [Attachment::new("c2", "eth0")]);
    assert_eq!(runs(&exec), ["DEL b", "DEL b", "DEL b", "DEL a", "GC a", "GC b"]);
    assert_eq!(dir.names("results"), ["net1-c1-eth0", "net1-c1-eth1"]);
}

#[test]
fn containers_are_worked_on_side_by_side_up_to_the_bound_and_each_by_itself() {
    let dir = Dir::new();
    for number in 0..20 {
        for ifname in ["eth0", "eth1"] {
            let id = format!("c{number}");
            dir.write(&format!("results/net1-{id}-{ifname}"), cached("net1", &id, ifname, &json!({})));
        }
    }
    let at_work = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counted = at_work.clone();
    let exec = Arc::new(ScriptedExec::new().plugin("a", move |_| {
        let now = counted.0.fetch_add(1, Ordering::SeqCst) + 1;
        counted.1.fetch_max(now, Ordering::SeqCst);
        // Lets the others come in, if there are any; how long that takes does not matter.
        std::thread::sleep(std::time::Duration::from_millis(1));
        counted.0.fetch_sub(1, Ordering::SeqCst);
        Reply::nothing()
    }));
    let client = builder(&dir, &exec).parallelism(NonZeroUsize::new(3).unwrap()).build();
    assert_eq!(client.gc(&network("1.0.0", &["a"]), &[]).unwrap().deleted.len(), 40);
    assert!(at_work.1.load(Ordering::SeqCst) <= 3);
}

#[test]
fn a_cache_that_cannot_be_listed_is_an_error_and_a_missing_one_is_none() {
    let exec = Arc::new(chain());
    let dir = Dir::with(&[("results", "a file")]);
    let error = client(&dir, &exec).gc(&network("1.1.0", &["a"]), &[]).unwrap_err();
    assert!(matches!(error, Error::Cache { .. }), "{error}");
    assert_eq!(runs(&exec), Vec::<String>::new());
    client(&Dir::new(), &exec).gc(&network("1.1.0", &["a"]), &[]).unwrap();
    assert_eq!(runs(&exec), ["GC a"]);
}

#[test]
fn what_gc_cannot_tell_it_leaves_alone_but_for_what_dead_writers_left() {
    let dir = dir_with(&[("net1", "c1", "eth0")]);
    dir.write("results/README", "x");
    dir.write("results/bad-id", cached("net1", "x/../../y", "eth0", &json!({})));
    dir.write("results/.libcni-x1y2z3", "{\"kind\":\"cniCa");
    let exec = Arc::new(chain());
    client(&dir, &exec).gc(&network("1.0.0", &["a"]), &[]).unwrap();
    assert_eq!(runs(&exec), ["DEL a"]);
    assert_eq!(dir.names("results"), ["README", "bad-id"]);
}

#[test]
fn an_attachment_whose_file_has_another_name_is_deleted_once_and_for_all() {
    let dir = dir_with(&[("net1", "c1", "eth0")]);
    dir.write("results/copy", dir.read("results/net1-c1-eth0"));
    let exec = Arc::new(chain());
    client(&dir, &exec).gc(&network("1.0.0", &["a"]), &[]).unwrap();
    assert_eq!(runs(&exec), ["DEL a"]);
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c53_a_live_attachment_survives_and_an_empty_list_means_none_is_valid() {
    let (dir, exec) = (dir_with(&[("net1", "c1", "eth0")]), Arc::new(chain()));
    let client = client(&dir, &exec);
    client.gc(&network("1.0.0", &["a"]), &[Attachment::new("c1", "eth0")]).unwrap();
    assert_eq!(dir.names("results"), ["net1-c1-eth0"]);
    client.gc(&network("1.0.0", &["a"]), &[]).unwrap();
    assert_eq!(dir.names("results"), Vec::<String>::new());
}

#[test]
fn c55_status_gives_the_first_failure_with_its_code_from_1_1_0_on() {
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("b", |_| Reply::error(ErrorCode::PLUGIN_NOT_AVAILABLE, "no addresses left"))
            .otherwise(|_| Reply::nothing()),
    );
    let dir = Dir::new();
    let client = client(&dir, &exec);
    let error = client.status(&network("1.1.0", &["a", "b", "c"])).unwrap_err();
    assert!(error.error_object().unwrap().is_not_available());
    assert_eq!(runs(&exec), ["STATUS a", "STATUS b"]);
    assert_eq!(exec.calls()[0].config(), json!({"cniVersion": "1.1.0", "name": "net1", "type": "a"}));
    client.status(&network("1.0.0", &["a", "b"])).unwrap();
    client.status(&network("1.1.0", &["a"])).unwrap();
    client.del(&network("1.1.0", &["a"]), &rt("c1", "eth0")).unwrap();
    assert_eq!(runs(&exec)[2..], ["STATUS a", "DEL a"]);
}

#[test]
fn c46_attachments_are_told_by_what_files_say() {
    let dir = Dir::new();
    dir.write("results/x", cached("net1", "c1", "eth0", &json!({})));
    dir.write("results/a-b-c-eth0", cached("a", "b-c", "eth0", &json!({})));
    dir.write("results/legacy", r#"{"cniVersion":"1.0.0"}"#);
    let client = client(&dir, &Arc::new(chain()));
    let all: Vec<_> = client.attachments(None).unwrap().iter().map(|it| it.attachment()).collect();
    assert_eq!(all, [Attachment::new("b-c", "eth0"), Attachment::new("c1", "eth0")]);
    let one = client.attachments(Some("c1")).unwrap();
    assert_eq!((one.len(), one[0].network_name(), one[0].netns()), (1, "net1", Some("/run/netns/c1")));
    assert!(client.attachments(Some("c")).unwrap().is_empty());
}

#[test]
fn ten_thousand_attachments_are_listed_and_collected() {
    let dir = Dir::new();
    let file = cached("net1", "ID", "eth0", &result("1.0.0", "10.1.0.5/16"));
    std::fs::create_dir(dir.join("results")).unwrap();
    for number in 0..10_000 {
        let id = format!("c{number}");
        std::fs::write(dir.join(&format!("results/net1-{id}-eth0")), file.replace("ID", &id)).unwrap();
    }
    let exec = Arc::new(chain());
    let client = client(&dir, &exec);
    assert_eq!(client.attachments(None).unwrap().len(), 10_000);
    let valid: Vec<_> = (0..9_900).map(|number| Attachment::new(format!("c{number}"), "eth0")).collect();
    assert_eq!(client.gc(&network("1.0.0", &["a"]), &valid).unwrap().deleted.len(), 100);
    assert_eq!(dir.names("results").len(), 9_900);
}

#[test]
fn a_bound_that_passes_ends_gc_with_one_failure_for_all_that_is_left() {
    let dir = Dir::new();
    for number in 0..50 {
        let id = format!("c{number:02}");
        dir.write(&format!("results/net1-{id}-eth0"), cached("net1", &id, "eth0", &json!({})));
    }
    let token = CancelToken::new().unwrap();
    let cancelled = token.clone();
    let exec = Arc::new(ScriptedExec::new().plugin("a", move |call| {
        if call.var("CNI_CONTAINERID").unwrap() == "c02" {
            cancelled.cancel();
        }
        Reply::nothing()
    }));
    let client = builder(&dir, &exec).parallelism(NonZeroUsize::MIN).build();
    let until = Until::FOREVER.or_cancelled(&token);
    let error = client.with_until(until).gc(&network("1.1.0", &["a"]), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"network "net1": GC failed in part: network "net1": GC was not executed: the caller cancelled"#
    );
    let Error::Gc { deleted, errors, .. } = error else { panic!("{error}") };
    assert_eq!((deleted.len(), errors.len(), exec.calls().len()), (3, 1, 3));
    assert_eq!(client.gc(&network("1.1.0", &["a"]), &[]).unwrap().deleted.len(), 47);
}

/// Attachments of two networks: the network, the container, the interface.
fn attachments() -> impl Strategy<Value = BTreeSet<(String, String, String)>> {
    let one = (1u8..3, 0u8..4, 0u8..3);
    let named = one.prop_map(|(network, id, ifname)| {
        (format!("net{network}"), format!("c{id}"), format!("eth{ifname}"))
    });
    proptest::collection::btree_set(named, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn gc_never_frees_a_valid_attachment(
        cached in attachments(),
        valid in attachments(),
        failing in proptest::option::of(0u8..4),
    ) {
        let names: Vec<_> =
            cached.iter().map(|(network, id, ifname)| (network.as_str(), id.as_str(), ifname.as_str())).collect();
        let dir = dir_with(&names);
        let failing = failing.map(|id| format!("c{id}"));
        let fails = failing.clone();
        let exec = Arc::new(ScriptedExec::new().otherwise(move |call| {
            match (call.command(), call.var("CNI_CONTAINERID")) {
                (Command::Del, Some(id)) if fails.as_ref().is_some_and(|fails| id == fails.as_str()) => {
                    Reply::error(ErrorCode::TRY_AGAIN, "later")
                }
                _ => Reply::nothing(),
            }
        }));
        let client = client(&dir, &exec);
        let valid: Vec<_> = valid.into_iter().map(|(_, id, ifname)| Attachment::new(id, ifname)).collect();
        let is_valid = |id: &str, ifname: &str| valid.iter().any(|valid| valid.is(id, ifname));
        let report = client.gc(&network("1.1.0", &["a"]), &valid);

        for call in exec.calls().iter().filter(|call| call.command() == Command::Del) {
            let var = |name| call.var(name).unwrap().to_str().unwrap();
            prop_assert!(!is_valid(var("CNI_CONTAINERID"), var("CNI_IFNAME")), "a valid attachment was deleted");
        }
        let left: BTreeSet<_> = client.attachments(None).unwrap().iter()
            .map(|it| (it.network_name().to_owned(), it.container_id().to_owned(), it.ifname().to_owned()))
            .collect();
        let is_stale = |(network, id, ifname): &&(String, String, String)| network == "net1" && !is_valid(id, ifname);
        let stays = |it: &&(String, String, String)| !is_stale(it) || failing.as_ref() == Some(&it.1);
        prop_assert_eq!(&left, &cached.iter().filter(stays).cloned().collect::<BTreeSet<_>>());
        let all_gone = !cached.iter().filter(is_stale).any(|it| failing.as_ref() == Some(&it.1));
        prop_assert_eq!(report.is_ok(), all_gone);
    }
}
