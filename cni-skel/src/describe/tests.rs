//! What is said, and when.

use insta::assert_snapshot;

use super::describe;
use crate::reply::Answer;
use crate::testing::Invocation;
use crate::types::{Command, Handling};
use crate::{
    AddRequest, AddResult, CheckRequest, CniArgs, CniPlugin, DelRequest, Dispatcher, GcRequest, Plugin,
    Result, RuntimeConfig,
};

#[derive(RuntimeConfig)]
#[cni(crate = crate)]
#[allow(dead_code, reason = "only its names are looked at")]
struct Runtime {
    port_mappings: Vec<String>,
    mac: Option<String>,
}

#[derive(CniArgs)]
#[cni(crate = crate)]
#[allow(dead_code, reason = "only its names are looked at")]
struct Args {
    ip: Option<String>,
    k8s_pod_name: Option<String>,
}

#[derive(CniPlugin)]
#[cni(crate = crate, name = "chatty", about = "tells what it is", version = "1.2.0", versions = "0.4.0..")]
#[cni(runtime = Runtime, args = Args, deny_unknown_keys)]
struct Chatty;

#[crate::plugin]
impl Plugin for Chatty {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }

    fn check(&self, _: &CheckRequest<Self>) -> Result<()> {
        Ok(())
    }

    #[cfg(any())]
    fn status(&self, _: &crate::StatusRequest<Self>) -> Result<()> {
        Ok(())
    }
}

#[derive(CniPlugin)]
#[cni(crate = crate, name = "taciturn", about = "says little", version = "0")]
struct Taciturn;

impl Plugin for Taciturn {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }

    fn gc(&self, _: &GcRequest<Self>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn c100_what_is_described_is_what_the_code_says() {
    let mut description = describe::<Chatty>();
    if cfg!(feature = "schema") {
        assert_eq!(description.config_schema.take().unwrap()["type"], "object");
    }
    assert_snapshot!(description.to_json(), @r#"
    {
        "formatVersion": 1,
        "name": "chatty",
        "version": "1.2.0",
        "about": "tells what it is",
        "supportedVersions": [
            "0.4.0",
            "1.0.0",
            "1.1.0"
        ],
        "commands": {
            "ADD": "handled",
            "CHECK": "handled",
            "DEL": "handled",
            "GC": "no-op",
            "STATUS": "no-op"
        },
        "capabilities": [
            "portMappings",
            "mac"
        ],
        "arguments": [
            "IP",
            "K8S_POD_NAME"
        ],
        "deniesUnknownKeys": true
    }
    "#);
}

#[test]
fn without_the_attribute_the_defaults_are_not_known() {
    let description = describe::<Taciturn>();
    assert_eq!(description.handling(Command::Add), Handling::Handled);
    assert_eq!(description.handling(Command::Del), Handling::Handled);
    for command in [Command::Check, Command::Gc, Command::Status] {
        assert_eq!(description.handling(command), Handling::Unknown, "{command}");
    }
}

#[test]
fn it_is_printed_on_stdout() {
    let outcome = Invocation::by_hand(["--describe"]).run(&Chatty);
    outcome.assert_success();
    assert_eq!(outcome.stdout(), describe::<Chatty>().to_json().as_bytes());
    assert_eq!(outcome.stderr(), "");
}

#[test]
fn the_versions_are_those_that_version_tells() {
    let old = Dispatcher::new(&Chatty).with_versions(["0.3.1".to_owned()]);
    let reply = old.respond(crate::Call::new([("PATH", "")], "").with_arguments(["--describe"]));
    let Answer::Description(description) = reply.answer else { panic!("{reply:?}") };
    assert_eq!(description.supported_versions, ["0.3.1"]);
}

#[test]
fn a_person_gets_text() {
    let outcome = Invocation::by_hand(["--version"]).run(&Chatty);
    assert_eq!((outcome.stdout(), outcome.stderr()), (b"chatty 1.2.0\n".as_slice(), ""));
    let outcome = Invocation::by_hand(["--help"]).run(&Chatty);
    assert_eq!((outcome.exit(), outcome.stderr()), (0, ""));
    assert_snapshot!(String::from_utf8_lossy(outcome.stdout()), @r#"
    chatty 1.2.0: tells what it is
    CNI spec versions supported: 0.4.0, 1.0.0, 1.1.0

    A CNI plugin is run by a container runtime: with the variable CNI_COMMAND and its network configuration, of the type
    "chatty", on stdin. See https://www.cni.dev/docs/spec.

    Options, where CNI_COMMAND is not set:
        --describe    Print a description as JSON
        --help        Print this text
        --version     Print the plugin's own version

    Commands:
        ADD           handled
        CHECK         handled
        DEL           handled
        GC            succeeds without action
        STATUS        succeeds without action

    Capabilities:
        portMappings, mac

    Arguments (CNI_ARGS):
        IP, K8S_POD_NAME
    "#);
    let outcome = Invocation::by_hand(["--help"]).run(&Taciturn);
    let help = String::from_utf8_lossy(outcome.stdout()).into_owned();
    assert!(help.contains("GC            handled, or succeeds without action"), "{help}");
    assert!(!help.contains("Capabilities") && !help.contains("Arguments"), "{help}");
}

#[test]
fn c12_with_other_arguments_or_none_it_says_who_it_is() {
    let about = "chatty 1.2.0: tells what it is\nCNI spec versions supported: 0.4.0, 1.0.0, 1.1.0\n";
    for arguments in
        [&[][..], &["-v"], &["-h"], &["version"], &["--describe", "x"], &["--describe=json"], &[""]]
    {
        let outcome = Invocation::by_hand(arguments.iter().copied()).run(&Chatty);
        assert_eq!(
            (outcome.exit(), outcome.stdout(), outcome.stderr()),
            (0, b"".as_slice(), about),
            "{arguments:?}"
        );
    }
}

#[test]
fn c100_where_there_is_a_command_arguments_mean_nothing() {
    for argument in ["--describe", "--help", "--version"] {
        let outcome = Invocation::by_hand([argument]).env("CNI_COMMAND", "VERSION").run(&Chatty);
        assert!(outcome.info().is_some(), "{argument}: {outcome:?}");
        let outcome = Invocation::by_hand([argument]).env("CNI_COMMAND", "FROBNICATE").run(&Chatty);
        outcome.assert_error(4);
        // As everywhere, an empty variable is none.
        let outcome = Invocation::by_hand([argument]).env("CNI_COMMAND", "").run(&Chatty);
        assert!(outcome.error().is_none() && !outcome.stdout().is_empty(), "{argument}");
    }
}
