//! Every check bites: a plugin that breaks one clause fails that check and no other.

use std::collections::BTreeSet;

use cni_conformance::{Check, Outcome, Report};
use plugin_support::testing::TestNetns;

use crate::fixture::{Use, run};

/// Clauses whose breach needs more than a plugin that makes interfaces in a namespace that does not exist.
const DELEGATING: [&str; 13] = [
    "error-code",
    "ipam-check",
    "ipam-config",
    "ipam-del",
    "ipam-env",
    "ipam-errors",
    "ipam-failed-add",
    "ipam-gc",
    "ipam-indexes",
    "ipam-result",
    "ipam-search-path",
    "ipam-status",
    "ipam-stderr",
];
const REAL: [&str; 6] = [
    "add-exists",
    "add-interface",
    "check-after-damage",
    "del-after-damage",
    "del-netns-gone",
    "del-removes-interface",
];
const IPAM: [&str; 1] = ["ipam-abbreviated"];

fn failed(report: &Report) -> Vec<&str> {
    report.failed().map(|check| check.id).collect()
}

fn assert_each_fails_its_check(clauses: &[&str], used: Use, netns: Option<&TestNetns>) {
    for clause in clauses {
        assert!(Check::find(clause).is_some(), "there is no check {clause:?}");
        let report = run(clause, used, netns);
        assert_eq!(failed(&report), [*clause], "a plugin that breaks {clause} alone:\n{report}");
    }
}

#[test]
fn c97_a_breach_of_the_protocol_fails_its_check_and_no_other() {
    let elsewhere: BTreeSet<_> = [&DELEGATING[..], &REAL, &IPAM].concat().into_iter().collect();
    let ids = Check::ALL.iter().map(|check| check.id);
    let here: Vec<_> = ids.filter(|id| !elsewhere.contains(id)).collect();
    assert_eq!(here.len() + elsewhere.len(), Check::ALL.len());
    assert_each_fails_its_check(&here, Use::Interface, None);
}

#[test]
fn c97_a_breach_of_delegation_fails_its_check_and_no_other() {
    assert_each_fails_its_check(&DELEGATING, Use::Delegating, None);
}

#[test]
fn c97_a_breach_in_the_kernel_fails_its_check_and_no_other() {
    let Some(netns) = TestNetns::new() else { return };
    assert_each_fails_its_check(&REAL, Use::Interface, Some(&netns));
}

#[test]
fn c97_a_breach_of_an_ipam_plugin_fails_its_check_and_no_other() {
    assert_each_fails_its_check(&IPAM, Use::Ipam, None);
}

fn skipped(report: &Report) -> BTreeSet<&'static str> {
    let skipped = report.checks.iter().filter(|check| matches!(check.outcome, Outcome::Skipped { .. }));
    skipped.map(|check| check.id).collect()
}

#[test]
fn c97_a_plugin_that_breaks_nothing_passes_and_every_check_is_made() {
    let Some(netns) = TestNetns::new() else { return };
    let mut never_made: BTreeSet<_> = Check::ALL.iter().map(|check| check.id).collect();
    for (used, netns) in
        [(Use::Interface, None), (Use::Interface, Some(&netns)), (Use::Delegating, None), (Use::Ipam, None)]
    {
        let report = run("none", used, netns);
        report.assert_passes();
        never_made = never_made.intersection(&skipped(&report)).copied().collect();
    }
    assert_eq!(never_made, BTreeSet::new());
}
