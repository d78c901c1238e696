//! What is secret is in nothing that is told, whatever the form: one test for each.

use serde_json::{Value, json};

use crate::support::{Host, Outcome};

const NETNS: &str = "/run/netns/t";
/// A part of every secret.
const SECRET: &str = "s3cr3t";

/// A network whose plugin `p` has secrets in its configuration, under keys that no one would know for secret.
fn host() -> Host {
    let host = Host::new();
    let list = json!({"cniVersion": "1.1.0", "name": "n1", "plugins": [
        {"type": "p", "vault": {"Site": "s3cr3t-site \"quoted\"", "list": [{"SITE": "s3cr3t-deep"}]}, "site": 90210},
        {"type": "q"},
    ]});
    host.conf("10-n1.conflist", &list.to_string()).plugin("p", &[]).plugin("q", &[]);
    host
}

/// Neither the words nor the number, in any quotes.
#[track_caller]
fn is_hidden(outcome: &Outcome) {
    for text in [&outcome.stderr, &outcome.stdout] {
        assert!(!text.contains(SECRET) && !text.contains("90210"), "{outcome}");
    }
    assert!(outcome.stderr.contains("(hidden)") || outcome.stdout.contains("(hidden)"), "{outcome}");
}

/// With the key given by the flag, by the variable, and among others; and without it, where all is told.
#[track_caller]
fn each_way(host: &Host, variables: &[(&str, &str)], words: &[&str]) -> Outcome {
    let told = host.cnitool_with(variables, words);
    assert!(format!("{told}").contains(SECRET), "nothing would be hidden: {told}");
    let by_variable = host.cnitool_with(&[variables, &[("CNI_REDACT", "x, sITE")]].concat(), words);
    is_hidden(&by_variable);
    let both = host.cnitool_with(
        &[variables, &[("CNI_REDACT", "x")]].concat(),
        &[words, &["--redact", "y", "--redact", "site"]].concat(),
    );
    is_hidden(&both);
    let by_flag = host.cnitool_with(variables, &[&["--redact", "Site"], words].concat());
    is_hidden(&by_flag);
    assert_eq!(by_flag.status, told.status);
    by_flag
}

#[test]
fn in_a_trace_as_json_stdin_stdout_stderr_and_environment() {
    let host = host();
    host.write(
        "told/p.ADD.stdout",
        r#"{"cniVersion":"1.1.0","ips":[],"dns":{},"x":{"site":["s3cr3t-result"]}}"#,
    );
    host.write("told/p.ADD.stderr", "connecting to s3cr3t-deep with 90210\n");
    let variables = [("SITE", "s3cr3t-variable"), ("CNI_ARGS", "IgnoreUnknown=1;SITE=s3cr3t pair")];
    let words = ["add", "n1", NETNS, "--trace=json"];
    let outcome = each_way(&host, &variables, &words);
    let events = outcome.events();
    let stdin: Value = serde_json::from_str(events[0]["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(stdin["vault"], json!({"Site": "(hidden)", "list": [{"SITE": "(hidden)"}]}));
    assert_eq!((&stdin["site"], &stdin["name"]), (&json!("(hidden)"), &json!("n1")));
    let stdout: Value = serde_json::from_str(events[0]["stdout"].as_str().unwrap()).unwrap();
    assert_eq!(stdout["x"]["site"], "(hidden)");
    assert_eq!(events[0]["stderr"], "connecting to (hidden) with (hidden)\n");
    assert_eq!(events[0]["environment"]["SITE"], "(hidden)");
    assert_eq!(events[0]["environment"]["CNI_ARGS"], "IgnoreUnknown=1;SITE=(hidden)");
    // The result of one is what the next is given.
    let stdin: Value = serde_json::from_str(events[1]["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(stdin["prevResult"]["x"]["site"], "(hidden)");
}

#[test]
fn the_result_on_stdout_is_data_and_stays_as_it_is() {
    let host = host();
    let result = r#"{"cniVersion":"1.1.0","ips":[],"dns":{},"site":"s3cr3t-result"}"#;
    host.write("told/p.ADD.stdout", result);
    host.write("told/q.ADD.stdout", result);
    let outcome = host.cnitool(&["add", "n1", NETNS, "--redact", "site"]).good();
    assert_eq!(outcome.json()["site"], "s3cr3t-result");
}

#[test]
fn in_a_trace_as_text_with_the_error() {
    let host = host();
    host.failing("p", "ADD", 100, "no site s3cr3t-deep, not even 90210");
    host.write("told/p.ADD.stderr", "trying s3cr3t-deep");
    let outcome = each_way(&host, &[], &["add", "n1", NETNS, "--trace"]);
    let text = outcome.stderr.as_str();
    for part in ["trying (hidden)", "no site (hidden), not even (hidden) (code 100)"] {
        assert!(text.contains(part), "{part}: {outcome}");
    }
}

#[test]
fn in_an_error_as_json_with_its_details() {
    let host = host();
    host.write(
        "told/p.ADD.stdout",
        r#"{"code":100,"msg":"no s3cr3t-deep","details":"{\"site\":\"s3cr3t-new\"}"}"#,
    );
    host.write("told/p.ADD.exit", "1");
    let outcome = each_way(&host, &[], &["add", "n1", NETNS, "--json"]);
    let events = outcome.events();
    assert_eq!(events[0]["details"], r#"{"site":"(hidden)"}"#);
    assert!(events[0]["msg"].as_str().unwrap().contains("no (hidden)"), "{outcome}");
}

#[test]
fn where_an_error_quotes_what_was_printed_and_is_cut_off() {
    let host = host();
    // 1024 bytes are quoted, which ends within the secret.
    let start = format!(r#"{{"x":"{}","#, "x".repeat(990));
    let site = r#""site":"s3cr3t-of-some-length"}"#;
    for stdout in [
        format!("{start}{site} no JSON"),
        format!("{start}  {} s3cr3t-site \"quoted\" no JSON", "y".repeat(3)),
    ] {
        host.write("told/p.ADD.stdout", &stdout);
        let outcome = each_way(&host, &[], &["add", "n1", NETNS]);
        assert!(outcome.stderr.contains("(hidden)"), "{outcome}");
    }
    host.write("told/p.ADD.stdout", "");
    host.write("told/p.ADD.stderr", &format!("s3cr3t-site \"quoted\"{}\n", "x".repeat(1019)));
    let outcome = host.cnitool(&["add", "n1", NETNS, "--redact", "site", "--json"]).bad(1);
    let event: Value = serde_json::from_str(outcome.stderr.lines().next_back().unwrap()).unwrap();
    let message = event["msg"].as_str().unwrap();
    assert!(message.contains("(hidden)x") && !message.contains("ted"), "{message}");
}

#[test]
fn on_the_stderr_of_plugins_line_by_line() {
    let host = host();
    host.write(
        "told/p.ADD.sh",
        "printf 's3cr3t' >&2; sleep 0.1; printf -- '-deep\\nSITE=s3cr3t-pair\\n{\"site\": \"s3cr3t-new\"}' >&2",
    );
    for plugin in ["p", "q"] {
        host.write(&format!("told/{plugin}.ADD.stdout"), r#"{"cniVersion":"1.1.0"}"#);
    }
    let outcome = each_way(&host, &[], &["add", "n1", NETNS]);
    assert_eq!(outcome.stderr, "(hidden)\nSITE=(hidden)\n{\"site\": \"(hidden)\"}");
}

#[test]
fn on_the_stderr_of_plugins_where_a_line_is_too_long_to_be_waited_for() {
    let host = host();
    // The secret lies where so long a line was cut.
    host.write(
        "told/p.ADD.sh",
        "printf '%65533s' >&2; printf 's3cr' >&2; sleep 0.1; printf '3t-deep\\nnext\\n' >&2",
    );
    for plugin in ["p", "q"] {
        host.write(&format!("told/{plugin}.ADD.stdout"), r#"{"cniVersion":"1.1.0"}"#);
    }
    let outcome = host.cnitool(&["add", "n1", NETNS, "--redact", "site"]);
    assert_eq!(outcome.stderr, "(a line of more than 65536 bytes)\nnext\n");
}

#[test]
fn where_a_configuration_is_wrong() {
    let host = Host::new();
    host.plugin("p", &[]);
    // A value of the wrong type is quoted, and a line of the file.
    let list = "{\"cniVersion\": \"1.1.0\", \"name\": \"n1\", \"plugins\": [\n{\"type\": \"p\", \"site\": \"s3cr3t-1\", \
                \"capabilities\": \"s3cr3t-longer\"}]}";
    host.conf("10-n1.conflist", list);
    for words in
        [&["add", "n1", NETNS][..], &["validate"], &["validate", "--json"], &["list"], &["list", "--json"]]
    {
        let told = host.cnitool(words);
        assert!(format!("{told}").contains(SECRET), "nothing would be hidden: {told}");
        is_hidden(&host.cnitool(&[words, &["--redact", "site", "--redact", "capabilities"]].concat()));
    }
    let outcome = host.cnitool(&["validate", "--redact", "site", "--redact", "capabilities"]);
    let lines: Vec<_> = outcome.stdout.lines().collect();
    let at = lines.iter().position(|line| line.contains("2 | ")).unwrap();
    let (line, mark) = (lines[at], lines[at + 1]);
    assert!(line.contains(r#""site": "(hidden)", "capabilities": "(hidden)""#), "{outcome}");
    // The mark is where it was: at the end of the value.
    assert!(line[..mark.find('^').unwrap()].ends_with("(hidden)"), "{outcome}");
}

#[test]
fn in_a_report_of_conformance() {
    let host = host();
    host.write("p.json", r#"{"cniVersion":"1.1.0","name":"n1","type":"p","site":"s3cr3t-config"}"#);
    host.write("told/p.ADD.stdout", "no JSON, but s3cr3t-config");
    for more in [&[][..], &["--json"]] {
        let words = ["conformance", "p", "--config", "p.json", "--junit", "report.xml"];
        let words = [&words, more].concat();
        let told = host.cnitool(&words);
        assert!(told.stdout.contains(SECRET) && host.read("report.xml").contains(SECRET), "{told}");
        is_hidden(&host.cnitool(&[&words[..], &["--redact", "site"]].concat()));
        assert!(!host.read("report.xml").contains(SECRET) && host.read("report.xml").contains("(hidden)"));
    }
}

#[test]
fn what_is_secret_by_its_name_is_hidden_without_being_given() {
    let host = Host::new();
    let list = json!({"cniVersion": "1.1.0", "name": "n1", "plugins": [
        {"type": "p", "policy": {"k8sAuthToken": "s3cr3t-token"}, "apiKey": "s3cr3t-key"},
    ]});
    host.conf("10-n1.conflist", &list.to_string()).plugin("p", &[]);
    host.failing("p", "ADD", 100, "refused s3cr3t-token, s3cr3t-key and s3cr3t-word");
    for words in
        [&["add", "n1", NETNS][..], &["add", "n1", NETNS, "--json"], &["add", "n1", NETNS, "--trace=json"]]
    {
        is_hidden(&host.cnitool_with(&[("DB_PASSWORD", "s3cr3t-word")], words));
    }
}
