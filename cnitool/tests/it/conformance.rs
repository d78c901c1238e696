//! `conformance`: a plugin in shell against the spec.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::support::Host;

/// A plugin that does what the spec says, as far as a shell can: it knows nothing of `prevResult`.
const GOOD: &str = r#"#!/bin/sh
config=$(cat)
key() { printf %s "$config" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
version=$(key cniVersion)
fail() { printf '{"cniVersion":"%s","code":%s,"msg":"%s"}' "${version:-1.1.0}" "$1" "$2"; exit 1; }
case "$CNI_COMMAND" in
VERSION) printf '{"cniVersion":"%s","supportedVersions":["1.1.0"]}' "$version"; exit ;;
ADD | CHECK) required="CNI_CONTAINERID CNI_NETNS CNI_IFNAME" ;;
DEL) required="CNI_CONTAINERID CNI_IFNAME" ;;
GC | STATUS) required="" ;;
*) fail 4 "CNI_COMMAND is none" ;;
esac
for name in $required; do
    eval "value=\$$name"
    case "$name $value" in
    *" ") fail 4 "$name is missing" ;;
    CNI_NETNS*) ;;
    *" "[!A-Za-z0-9]* | *" "*[!A-Za-z0-9_.-]*) fail 4 "$name is wrong" ;;
    CNI_IFNAME\ ????????????????*) fail 4 "$name is too long" ;;
    esac
done
case "$config" in '{'*'}') ;; *) fail 6 "stdin is no object" ;; esac
[ "$version" = 1.1.0 ] || fail 1 "only 1.1.0 is supported"
case "$(key name)" in '' | */*) fail 7 "the name is wrong" ;; esac
[ "$CNI_COMMAND" != ADD ] ||
    printf '{"cniVersion":"1.1.0","interfaces":[{"name":"%s","sandbox":"%s"}]}' "$CNI_IFNAME" "$CNI_NETNS"
"#;

fn plugin(host: &Host, name: &str, script: &str) {
    host.write(&format!("bin/{name}"), script);
    fs::set_permissions(host.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
    host.write("config.json", r#"{"cniVersion":"0.4.0","name":"n1"}"#);
}

const EXCEPT: [&str; 2] = ["--except", "add-prev-result=a shell cannot take JSON apart"];

#[test]
fn c97_a_plugin_in_shell_passes_by_name_and_by_path() {
    let host = Host::new();
    plugin(&host, "good", GOOD);
    for subject in ["good", "./bin/good"] {
        let mut words = vec!["conformance", subject, "--config", "config.json"];
        words.extend(EXCEPT);
        let outcome = host.cnitool(&words).good();
        assert!(outcome.stdout.starts_with("plugin \"good\", tested in 1.1.0\n"), "{outcome}");
        let skipped = "skipped  MUST    add-prev-result          a shell cannot take JSON apart\n";
        assert!(outcome.stdout.contains(skipped), "{outcome}");
        assert!(outcome.stdout.contains(" passed, 0 failed, "), "{outcome}");
    }
}

#[test]
fn a_configuration_may_come_through_a_pipe() {
    let host = Host::new();
    plugin(&host, "good", GOOD);
    let mut words = vec!["conformance", "good", "--config", "/dev/stdin"];
    words.extend(EXCEPT);
    let mut cnitool = host.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Closed at once, as its writer's end would be.
    cnitool.stdin.take().unwrap().write_all(host.read("config.json").as_bytes()).unwrap();
    let output = cnitool.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains(" passed, 0 failed, "), "{output:?}");
}

#[test]
fn c97_what_fails_is_told_with_clause_call_and_answer() {
    let host = Host::new();
    plugin(&host, "chatty", &GOOD.replace("config=$(cat)\n", "config=$(cat)\necho starting\n"));
    let mut words = vec!["conformance", "chatty", "--config", "config.json", "--junit", "report.xml"];
    words.extend(EXCEPT);
    let outcome = host.cnitool(&words);
    assert_eq!(outcome.status, 1, "{outcome}");
    let told = [
        "FAILED   MUST    stdout-pure ",
        "MUST stdout-pure: stdout carries one JSON document or nothing",
        "  https://github.com/containernetworking/cni/blob/main/SPEC.md#overview-1\n",
        "  - VERSION in 1.1.0: stdout is not one JSON document",
        "      CNI_COMMAND=VERSION\n      stdin:\n        {\"cniVersion\":\"1.1.0\"}\n    gave exit status 0\n      stdout:\n        starting\n",
    ];
    for part in told {
        assert!(outcome.stdout.contains(part), "{part}\n{outcome}");
    }
    let junit = host.read("report.xml");
    assert!(
        junit.contains(r#"<testcase classname="chatty" name="stdout-pure"><failure type="MUST""#),
        "{junit}"
    );

    words.push("--json");
    let outcome = host.cnitool(&words);
    assert_eq!(outcome.status, 1, "{outcome}");
    let report = outcome.json();
    let checks = report["checks"].as_array().unwrap();
    let pure = checks.iter().find(|check| check["id"] == "stdout-pure").unwrap();
    assert_eq!((&pure["outcome"], &pure["severity"]), (&"failed".into(), &"MUST".into()));
    assert_eq!(pure["findings"][0]["sent"]["environment"]["CNI_COMMAND"], "VERSION");
    assert_eq!(pure["findings"][0]["received"]["exit"], "exit status 0");
}

#[test]
fn what_a_plugin_prints_is_no_order_to_the_terminal() {
    let host = Host::new();
    let evil = r#"#!/bin/sh
printf '{"cniVersion":"1.1.0","supportedVersions":["1.1.0","\033[2J"]} \033]0;x\007'
printf '\033[31m' >&2
exit 3
"#;
    plugin(&host, "evil", evil);
    let outcome = host.cnitool(&["conformance", "evil", "--config", "config.json", "--junit", "report.xml"]);
    assert!(outcome.status == 1 && outcome.stdout.contains("\\u{1b}]0;x\\u{7}"), "{outcome}");
    for text in [&outcome.stdout, &outcome.stderr, &host.read("report.xml")] {
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text}");
    }
}

#[test]
fn what_cannot_be_used_is_told_before_anything_is_run() {
    let host = Host::new();
    host.plugin("bridge", &[]);
    host.write("config.json", "{}");
    host.write("no.json", "{");
    host.write("list.json", r#"{"name":"n1","plugins":[{"type":"other"}]}"#);
    for (words, told) in [
        (&["nothing", "--config", "config.json"][..], "error: PLUGIN: failed to find plugin"),
        (
            &["./bin/nothing", "--config", "config.json"],
            "error: PLUGIN: cannot use ./bin/nothing: No such file",
        ),
        (&["bridge", "--config", "gone.json"], "error: --config: cannot use gone.json: No such file"),
        (&["bridge", "--config", "no.json"], "error: --config: no.json: expected JSON: EOF"),
        (&["bridge", "--config", "list.json"], "error: --config: list.json: cannot use the configuration"),
        (
            &["bridge", "--config", "config.json", "--netns", "gone"],
            "error: --netns: cannot use gone: No such file",
        ),
        (&["bridge", "--config", "config.json", "--except", "x"], "error: --except: there is no check \"x\""),
        (
            &["bridge", "--config", "config.json", "--except", "concurrent"],
            "error: --except: why is \"concurrent\" left out? expected concurrent=REASON",
        ),
        (
            &["bridge", "--config", "config.json", "--except", "concurrent= "],
            "error: --except: why is \"concurrent\" left out? expected concurrent=REASON",
        ),
        (
            &["bridge", "--config", "config.json", "--junit", "a/b"],
            "error: --junit: cannot use a/b: No such file",
        ),
        (
            &["bridge", "--config", "config.json", "--netns", ".", "--fake-netns"],
            "error: the argument '--netns <PATH>'",
        ),
    ] {
        let words: Vec<_> = ["conformance"].iter().chain(words).copied().collect();
        let outcome = host.cnitool(&words).bad(2);
        assert!(outcome.stderr.contains(told), "{told}\n{outcome}");
    }
    assert_eq!(host.calls(), [""; 0]);
}
