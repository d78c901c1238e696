//! Validation, VERSION, and looking on.

use std::sync::{Arc, Mutex};

use cni_invoke::testing::{Reply, ScriptedExec};
use cni_types::{Command, ErrorCode, ExtraKeys, PluginType};
use libcni::{Client, Network, Observer, PluginEnd, PluginRun, Warning};
use serde_json::json;

use crate::support::{Dir, builder, client, network, result, rt, runs};

fn supports(versions: &[&str]) -> Reply {
    Reply::json(json!({"cniVersion": "1.1.0", "supportedVersions": versions}))
}

#[test]
fn c41_plugins_that_are_too_old_are_one_problem_with_a_version_that_all_share() {
    let exec = Arc::new(ScriptedExec::new().otherwise(|_| supports(&["0.3.1", "0.4.0"])));
    let client: Client = client(&Dir::new(), &exec);
    let validation = client.validate(&network("1.0.0", &["bridge", "portmap"]));
    let problems: Vec<_> = validation.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 1);
    insta::assert_snapshot!(problems[0], @r#"plugin "bridge" supports 0.3.1 0.4.0, plugin "portmap" supports 0.3.1 0.4.0, but the configuration version is "1.0.0"; all plugins support 0.4.0"#);
    assert_eq!(validation.best_version().unwrap().as_str(), "0.4.0");
    assert_eq!(runs(&exec), ["VERSION bridge", "VERSION portmap"]);
    assert_eq!(exec.calls()[0].config(), json!({"cniVersion": "1.1.0"}));
}

#[test]
fn c98_absent_and_silent_plugins_are_told_at_once_and_unconsumed_capabilities_are_no_problem() {
    let list = json!({"cniVersion": "1.0.0", "name": "net1", "plugins": [
        {"type": "gone"},
        {"type": "garbage"},
        {"type": "good", "capabilities": {"portMappings": true, "mac": false}},
        {"type": "old"},
    ]});
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("garbage", |_| Reply::json("garbage"))
            .plugin("good", |_| supports(&["0.4.0", "1.0.0"]))
            .plugin("old", |_| Reply::error(ErrorCode::INVALID_ENVIRONMENT, "unknown CNI_COMMAND: VERSION")),
    );
    let client = client(&Dir::new(), &exec);
    let validation = client.validate(&Network::from_list(list.to_string().as_bytes()).unwrap());
    let problems: Vec<_> = validation.problems().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"), @r#"
    plugin "gone" was not executed for VERSION: failed to find plugin "gone" in path [/opt/cni/bin]: "/opt/cni/bin" (no such file)
    plugin "garbage" (/opt/cni/bin/garbage) answered VERSION with exit status 0, but unreadably: stdout "\"garbage\"", stderr "": cannot decode version info: invalid type: string "garbage", expected an object at line 1 column 9
    plugin "old" supports 0.1.0, but the configuration version is "1.0.0"; no version is supported by all plugins
    "#);
    assert_eq!(validation.capabilities.iter().collect::<Vec<_>>(), ["portMappings"]);
    let mut offered = ExtraKeys::default();
    offered.insert("portMappings", &[1]).unwrap();
    offered.insert("mac", &"x").unwrap();
    assert_eq!(validation.unconsumed(&offered), ["mac"]);
    assert!(client.validate(&network("1.0.0", &["good"])).is_ok());
}

#[test]
fn version_info_asks_one_plugin() {
    let exec = Arc::new(ScriptedExec::new().plugin("a", |_| supports(&["1.0.0"])));
    let client = client(&Dir::new(), &exec);
    let info = client.version_info(&PluginType::new("a").unwrap()).unwrap();
    assert_eq!(info.supported_versions, ["1.0.0"]);
    assert!(client.version_info(&PluginType::new("b").unwrap()).is_err());
}

/// Keeps one line for each event.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Observer for Log {
    fn plugin_started(&self, run: &PluginRun<'_>) {
        let program = run.program.unwrap().display();
        self.say(format!("{}/{} {} {} starts {program}", run.position, run.plugins, run.command, run.plugin));
    }

    fn plugin_finished(&self, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
        let exit = end.output.map_or_else(|| "was not run".to_owned(), |output| output.exit.to_string());
        let ips = |result: Option<&cni_types::VersionedResult>| {
            result.map(|result| result.clone().into_add_result().ips.len())
        };
        let stdin: serde_json::Value = serde_json::from_slice(run.stdin).unwrap();
        let command = run.environment.find("CNI_COMMAND").map(|value| value.to_str().unwrap().to_owned());
        self.say(format!(
            "{} {} ends: {exit}, error {}, ips {:?} to {:?}, type {}, CNI_COMMAND {command:?}",
            run.command,
            run.plugin,
            end.error.is_some(),
            ips(end.before),
            ips(end.result),
            stdin["type"],
        ));
    }

    fn warning(&self, warning: &Warning) {
        self.say(format!("warning: {warning}"));
    }
}

impl Log {
    fn say(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

#[test]
fn an_observer_sees_every_run_and_what_it_changed() {
    let exec = Arc::new(
        ScriptedExec::new()
            .on("a", Command::Add, |_| Reply::json(result("1.0.0", "10.1.0.5/16")))
            .on("b", Command::Add, |_| Reply::error(ErrorCode::new(100), "no"))
            .otherwise(|_| Reply::nothing())
            .missing("c"),
    );
    let (dir, log) = (Dir::new(), Arc::new(Log::default()));
    let client = builder(&dir, &exec).observer(log.clone()).build();
    client.add(&network("1.0.0", &["a", "b"]), &rt("c1", "eth0")).unwrap_err();
    client.del(&network("1.0.0", &["a", "c"]), &rt("c1", "eth0")).unwrap_err();
    insta::assert_snapshot!(log.0.lock().unwrap().join("\n"), @r#"
    0/2 ADD a starts /opt/cni/bin/a
    ADD a ends: exit status 0, error false, ips None to Some(1), type "a", CNI_COMMAND Some("ADD")
    1/2 ADD b starts /opt/cni/bin/b
    ADD b ends: exit status 1, error true, ips Some(1) to None, type "b", CNI_COMMAND Some("ADD")
    DEL c ends: was not run, error true, ips None to None, type "c", CNI_COMMAND None
    "#);
}

#[test]
fn c56_a_plugin_that_drops_what_others_reported_is_told_and_no_error() {
    let own = json!({"cniVersion": "1.0.0", "interfaces": [{"name": "eth0"}], "ips": []});
    let exec = Arc::new(
        ScriptedExec::new()
            .plugin("macvlan", |_| Reply::json(result("1.0.0", "10.1.0.5/16")))
            .plugin("script", move |_| Reply::json(&own)),
    );
    let (dir, log) = (Dir::new(), Arc::new(Log::default()));
    let client = builder(&dir, &exec).observer(log.clone()).build();
    client.add(&network("1.0.0", &["macvlan", "script"]), &rt("c1", "eth0")).unwrap();
    let log = log.0.lock().unwrap();
    let warnings: Vec<_> = log.iter().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(warnings.len(), 1);
    insta::assert_snapshot!(warnings[0], @r#"warning: network "net1": the result of plugin "script" lacks sandbox "/run/netns/c1" of interface "eth0", address 10.1.0.5/16, which the plugins before it had reported"#);
}

#[test]
fn c56_an_address_that_is_none_is_an_error_that_names_the_field() {
    for (address, expected) in [
        (json!("null"), "ips[0].address"),
        (json!(""), "ips[0].address"),
        (json!("null/32"), "ips[0].address"),
    ] {
        let printed = json!({"cniVersion": "1.0.0", "ips": [{"address": address}]});
        let exec = Arc::new(ScriptedExec::new().plugin("a", move |_| Reply::json(&printed)));
        let error = client(&Dir::new(), &exec).add(&network("1.0.0", &["a"]), &rt("c1", "eth0")).unwrap_err();
        let text = crate::support::causes(&error);
        assert!(text.contains(expected), "{text}");
    }
}
