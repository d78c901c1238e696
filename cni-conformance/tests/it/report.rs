//! How findings are told: to people, to programs, to CI.

use cni_conformance::{Check, Report, Severity};
use serde_json::Value;

use crate::fixture::{Use, run};

/// A text without what differs from run to run.
fn stable(text: &str) -> String {
    let text = text.replace(&format!("conformance-{}", std::process::id()), "conformance-PID");
    match (text.find("/tmp/.tmp"), text.find("/state")) {
        (Some(start), Some(end)) if start < end => text.replace(&text[start..end], "/DIR"),
        _ => text,
    }
}

fn report() -> Report {
    run("add-interface-index", Use::Interface, None)
}

#[test]
fn the_table_tells_everything_about_what_failed() {
    insta::assert_snapshot!(stable(&report().to_string()));
}

#[test]
fn json_has_every_check_and_what_was_sent_and_received() {
    let report = report();
    let json = serde_json::to_value(&report).unwrap();
    let checks = json["checks"].as_array().unwrap();
    assert_eq!(checks.len(), Check::ALL.len());
    let of = |id: &str| checks.iter().find(|check| check["id"] == id).unwrap();
    assert_eq!(of("add-succeeds")["outcome"], "passed");
    assert_eq!(of("add-exists")["reason"], "needs a real network namespace");
    let failed = of("add-interface-index");
    assert_eq!((&failed["outcome"], &failed["severity"]), (&"failed".into(), &"MUST".into()));
    let finding = &failed["findings"][0];
    assert_eq!(finding["reason"], "ADD in 0.3.0: ips[0].interface is 7, and interfaces has no such entry");
    assert_eq!(finding["sent"]["environment"]["CNI_COMMAND"], "ADD");
    let config: Value = serde_json::from_str(finding["sent"]["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(config["cniVersion"], "0.3.0");
    assert_eq!(finding["received"]["exit"], "exit status 0");
    // What is inherited may be secret.
    assert_eq!(finding["sent"]["environment"]["PATH"], Value::Null);
}

#[test]
fn junit_has_a_case_for_each_check() {
    let report = report();
    let junit = report.to_junit();
    assert_eq!(junit.matches("<testcase ").count(), Check::ALL.len());
    assert_eq!(junit.matches("</testcase>").count(), Check::ALL.len());
    assert_eq!(junit.matches("<failure ").count(), 1);
    let suite = format!(
        r#"<testsuite name="cni-conformance add-interface-index" tests="{}" failures="1""#,
        Check::ALL.len()
    );
    assert!(junit.contains(&suite), "{junit}");
    assert!(junit.contains("&quot;interfaces&quot;") && !junit.contains("\"interfaces\""), "{junit}");
}

#[test]
fn every_check_has_an_id_of_its_own_and_a_link() {
    let mut ids: Vec<_> = Check::ALL.iter().map(|check| check.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), Check::ALL.len());
    assert!(Check::ALL.iter().any(|check| check.severity == Severity::Should));
    for check in Check::ALL {
        assert_eq!(Check::find(check.id), Some(*check));
        let (page, anchor) = check.link().split_once('#').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert!(page.starts_with("https://github.com/containernetworking/cni/blob/") && !anchor.is_empty());
    }
}

/// The guide lists the checks; it is right.
#[test]
fn the_guide_lists_every_check() {
    let guide = include_str!("../../../docs/guide/conformance.md");
    let rows: Vec<_> = guide.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<_> = Check::ALL
        .iter()
        .map(|check| {
            format!(
                "| `{}` | {} | {} | [{}]({}) |",
                check.id,
                check.severity,
                check.since,
                check.clause,
                check.link()
            )
        })
        .collect();
    assert_eq!(rows, expected, "\n{}", expected.join("\n"));
}
