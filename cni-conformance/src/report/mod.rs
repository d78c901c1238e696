//! What a run found: for people, for programs, for CI.

mod junit;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::catalog::{Check, Severity};

/// What a run of the checks found about a plugin.
///
/// It is shown as a table ([`Display`](std::fmt::Display)), serialised for programs, and written as JUnit XML for CI
/// ([`Report::to_junit`]).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The plugin's type.
    pub plugin: String,
    /// The versions that were tested: those that the plugin claims and the spec has.
    pub versions: Vec<String>,
    /// The network namespace that the plugin was given.
    pub netns: String,
    /// Whether the namespace is a real one. Checks that need a kernel are skipped otherwise.
    pub real_netns: bool,
    /// What was not tested, and why, beside the skipped checks.
    pub notes: Vec<String>,
    /// Every check, in the order of [`Check::ALL`].
    pub checks: Vec<CheckReport>,
}

/// What came of one check.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// The check's ID.
    pub id: &'static str,
    /// How strict the clause is.
    pub severity: Severity,
    /// What the clause asks for.
    pub clause: &'static str,
    /// Where the clause stands.
    pub link: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a check.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
#[allow(clippy::exhaustive_enums, reason = "a fourth would change what every report means")]
pub enum Outcome {
    /// Every answer was as it has to be.
    Passed {
        /// How many answers were looked at.
        looked_at: usize,
    },
    /// At least one was not.
    Failed {
        /// Those that were not.
        findings: Vec<Finding>,
    },
    /// No answer could tell.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// One answer that was not as it has to be.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub reason: String,
    /// The call.
    pub sent: Sent,
    /// The answer.
    pub received: Received,
}

/// What a plugin was called with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Sent {
    /// The variables of the protocol. Those that are inherited are not told.
    pub environment: BTreeMap<String, String>,
    /// stdin, as text, cut at 16 KiB.
    pub stdin: String,
}

/// What a plugin answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Received {
    /// How it ended: `exit status 1`, `signal 9 (SIGKILL)`, or why it was stopped.
    pub exit: String,
    /// stdout, as text, cut at 16 KiB.
    pub stdout: String,
    /// The end of stderr, as text.
    pub stderr: String,
}

impl Report {
    /// Whether no check failed. Skipped ones count as neither.
    pub fn passes(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed { .. }))
    }

    /// What came of a check; `None` when there is none of this ID.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.checks.iter().find(|check| check.id == id).map(|check| &check.outcome)
    }

    /// Fails the test unless every check passed or was skipped.
    ///
    /// # Panics
    ///
    /// When one failed, with the whole table.
    #[track_caller]
    pub fn assert_passes(&self) {
        assert!(self.passes(), "{self}");
    }

    /// The report as JUnit XML, as CI systems read it: a test case for each check, named by its ID.
    pub fn to_junit(&self) -> String {
        junit::write(self)
    }

    /// How many passed, failed and were skipped.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let count =
            |wanted: fn(&Outcome) -> bool| self.checks.iter().filter(|check| wanted(&check.outcome)).count();
        [
            count(|outcome| matches!(outcome, Outcome::Passed { .. })),
            count(|outcome| matches!(outcome, Outcome::Failed { .. })),
            count(|outcome| matches!(outcome, Outcome::Skipped { .. })),
        ]
    }
}

impl CheckReport {
    pub(crate) fn new(check: &'static Check, outcome: Outcome) -> Self {
        Self { id: check.id, severity: check.severity, clause: check.clause, link: check.link(), outcome }
    }
}
