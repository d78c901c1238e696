//! The conformance vectors, one test per file, and the agreement of the two lists of deviations.
//!
//! `CNI_VECTORS=<folder>` runs another set of the same format, `CNI_VECTORS_CASE=<pattern>` only the cases of that name.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use cni_tests::vectors::{adapters, case, deviations, glob, report, run};

mod rows;

/// How many failures are shown in full.
const SHOWN: usize = 25;

fn list() -> Vec<deviations::Deviation> {
    deviations::parse(include_str!("../../vectors-deviations.json"))
        .unwrap_or_else(|error| panic!("vectors-deviations.json: {error}"))
}

/// Runs one vector file and fails with a readable report.
fn check(file: &'static str) {
    let adapter = adapters::by_file(file, Path::new(env!("CARGO_BIN_EXE_vec-plugin"))).unwrap();
    let replaced = std::env::var_os("CNI_VECTORS").map(PathBuf::from);
    let folder = replaced.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"));
    let Some(mut cases) = case::load(&folder, file).unwrap() else {
        // A replacement may be partial, but a path that is no set of vectors must not pass for one.
        assert!(replaced.is_some(), "{file}.json is missing from {}", folder.display());
        assert!(
            case::FILES.iter().any(|file| folder.join(format!("{file}.json")).is_file()),
            "no vector file in {}",
            folder.display()
        );
        return say(&format!("SKIPPED: {file}: not in {}", folder.display()));
    };
    let only = std::env::var("CNI_VECTORS_CASE").ok();
    if let Some(only) = &only {
        cases.retain(|case| glob::matches(only, &case.name));
    }
    let committed = replaced.is_none() && only.is_none();
    let summary = run::run(file, &cases, &*adapter, &list(), committed);
    say(&report::line(&summary));
    for (name, why) in &summary.skipped {
        say(&format!("SKIPPED: {file}: {name}: {why}"));
    }
    let required = std::env::var_os("CNI_TEST_REQUIRE").is_some_and(|value| value == "1");
    assert!(
        !required || summary.skipped.is_empty(),
        "{file}: cases were skipped, which CNI_TEST_REQUIRE forbids"
    );
    assert!(summary.failures.is_empty() && summary.stale.is_empty(), "\n{}", report::full(&summary, SHOWN));
}

/// Writes past the test harness, which hides what a passing test prints.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn results_convert() {
    check("results_convert");
}

#[test]
fn results_parse() {
    check("results_parse");
}

#[test]
fn prev_result() {
    check("prev_result");
}

#[test]
fn validate() {
    check("validate");
}

#[test]
fn versions() {
    check("versions");
}

#[test]
fn skel_dispatch() {
    check("skel_dispatch");
}

#[test]
fn plugin_err() {
    check("plugin_err");
}

#[test]
fn conflist() {
    check("conflist");
}

#[test]
fn libcni_exec() {
    check("libcni_exec");
}

#[test]
fn cni_args() {
    check("cni_args");
}
