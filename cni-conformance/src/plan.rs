//! The order of a run: which versions there are, everything that holds for each, then what is looked at once.

use cni_types::CniVersion;

use crate::catalog::{ADD_PREV_RESULT, Check};
use crate::checks;
use crate::report::Report;
use crate::session::Session;
use crate::setup::{Conformance, Kind};

pub(crate) fn run(setup: &Conformance<'_>) -> Report {
    let session = Session::new(setup);
    let mut notes = Vec::new();
    let mut versions = Vec::new();
    match checks::version::run(&session) {
        None => {
            for check in Check::ALL {
                session.skip(check, "the plugin cannot be started");
            }
        }
        Some(claimed) => {
            versions = testable(&session, &claimed.tested, &mut notes);
            if let Some(Err(reason)) = &session.delegate {
                notes.push(format!("the delegate cannot be recorded: {reason}"));
            }
            if let (Some(_), Err(reason)) = (&setup.netns, &session.kernel) {
                notes.push(reason.clone());
            }
            check_all(&session, &versions, &claimed.possible);
        }
    }
    let netns = session.netns()[0].display().to_string();
    Report {
        plugin: setup.plugin.to_string(),
        versions: versions.iter().map(ToString::to_string).collect(),
        netns,
        real_netns: setup.netns.is_some(),
        notes,
        checks: session.into_reports(),
    }
}

/// The claimed versions in which the configuration can be used.
fn testable(session: &Session<'_>, claimed: &[CniVersion], notes: &mut Vec<String>) -> Vec<CniVersion> {
    let (tested, left_out): (Vec<_>, Vec<_>) =
        claimed.iter().partition(|version| session.kind != Kind::Chained || **version >= CniVersion::V0_3_0);
    if !left_out.is_empty() {
        let left_out: Vec<_> = left_out.iter().map(ToString::to_string).collect();
        notes.push(format!("{} not tested: they have no prevResult", left_out.join(", ")));
    }
    tested
}

fn check_all(session: &Session<'_>, versions: &[CniVersion], possible: &[CniVersion]) {
    for version in versions {
        if checks::lifecycle::run(session, *version) {
            if *version >= ADD_PREV_RESULT.since {
                checks::prev_result::run(session, *version);
            }
        } else {
            session.skip(&ADD_PREV_RESULT, session.not_added());
        }
    }
    if let Some(newest) = versions.last() {
        checks::refusals::run(session, *newest, possible);
        checks::upkeep::run(session, *newest);
        checks::pairs::run(session, *newest);
        checks::delegation::run(session, *newest);
        checks::damage::run(session, *newest);
    }
    skip_what_no_version_has(session, versions);
    checks::facets::run(session);
}

/// Tells of checks that stayed open that the versions are too old for them.
fn skip_what_no_version_has(session: &Session<'_>, versions: &[CniVersion]) {
    for check in Check::ALL {
        if versions.iter().all(|version| *version < check.since) {
            session.skip(check, format!("holds from {} on", check.since));
        }
    }
}
