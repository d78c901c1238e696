//! Real processes: what only they can do.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use cni_conformance::{Conformance, Outcome, SearchPath};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::Use;

/// The fixture plugin as a program, which `cargo test` has built beside the tests, by another name.
fn program(dir: &TempDir, name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let fixture = tests.parent().unwrap().parent().unwrap().join("examples/fixture");
    let hint = "`cargo test -p cni-conformance` builds it, `--test it` alone does not";
    assert!(fixture.exists(), "{fixture:?} is missing: {hint}");
    let program = dir.path().join(name);
    symlink(fixture, &program).unwrap();
    program
}

fn kit(dir: &TempDir, name: &str, used: Use) -> Conformance<'static> {
    let kit = Conformance::of_program(program(dir, name), used.config(name, dir)).unwrap();
    kit.env("FIXTURE_VERSIONS", "newest")
}

#[test]
fn a_program_passes_with_a_delegate_that_is_scripted_or_real() {
    let dir = TempDir::new().unwrap();
    kit(&dir, "none", Use::Delegating).assert_passes();

    // The same program once more, as its own IPAM plugin.
    let real = TempDir::new().unwrap();
    program(&real, "some-ipam");
    let dir = TempDir::new().unwrap();
    let kit = kit(&dir, "none", Use::Delegating).search_path(SearchPath::new([real.path()]));
    let report = kit.run();
    report.assert_passes();
    assert!(matches!(report.outcome("ipam-result"), Some(Outcome::Passed { .. })), "{report}");
}

#[test]
fn a_plugin_that_dies_of_a_signal_is_told() {
    let dir = TempDir::new().unwrap();
    let report = kit(&dir, "abort", Use::Interface).run();
    let failed: Vec<_> = report.failed().map(|check| check.id).collect();
    assert_eq!(failed, ["error-exit"], "{report}");
    assert!(report.to_string().contains("it ended by signal 6 (SIGABRT)"), "{report}");
}

#[test]
fn a_plugin_that_hangs_is_stopped_and_told() {
    let dir = TempDir::new().unwrap();
    let report = kit(&dir, "hang", Use::Interface).timeout(Duration::from_millis(1)).run();
    assert!(report.to_string().contains("killed: the deadline passed"), "{report}");
}

#[test]
fn a_program_that_cannot_be_started_fails_one_check() {
    let config = json!({"name": "n"});
    let report = Conformance::of_program("/does/not/exist", config).unwrap().run();
    let failed: Vec<_> = report.failed().map(|check| check.id).collect();
    assert_eq!(failed, ["version-reply"]);
    let others = report.checks.iter().filter(|check| check.id != "version-reply");
    let is_skipped = |outcome: &Outcome| matches!(outcome, Outcome::Skipped { reason } if reason == "the plugin cannot be started");
    assert!(others.map(|check| &check.outcome).all(is_skipped), "{report}");
}
