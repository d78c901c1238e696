//! What is wrong with configuration files, as JSON.

use std::path::Path;

use libcni::{Problem, SkipReason, Skipped};
use serde::Serialize;

use crate::lint::Remark;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProblemJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
    #[serde(skip_serializing_if = "is_zero")]
    line: usize,
    #[serde(skip_serializing_if = "is_zero")]
    column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    message: &'a str,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl<'a> From<&'a Problem> for ProblemJson<'a> {
    fn from(problem: &'a Problem) -> Self {
        Self {
            file: problem.file.as_deref(),
            line: problem.line,
            column: problem.column,
            path: problem.path.as_deref(),
            message: &problem.message,
        }
    }
}

impl<'a> From<&'a Remark> for ProblemJson<'a> {
    fn from(remark: &'a Remark) -> Self {
        Self {
            file: Some(&remark.file),
            line: remark.line,
            column: remark.column,
            path: Some(&remark.path),
            message: &remark.message,
        }
    }
}

/// A file that gave no network, or no plugin of one.
#[derive(Serialize)]
pub(super) struct SkippedJson<'a> {
    pub(super) file: &'a Path,
    /// A word that programs can tell reasons apart by.
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<&'a str>,
    /// The file that counts in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a Path>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemJson<'a>>,
}

impl<'a> SkippedJson<'a> {
    pub(super) fn new(file: &'a Path, reason: &'static str, network: Option<&'a str>) -> Self {
        Self { file, reason, network, by: None, problems: Vec::new() }
    }
}

impl<'a> From<&'a Skipped> for SkippedJson<'a> {
    fn from(skipped: &'a Skipped) -> Self {
        match &skipped.reason {
            SkipReason::Faulty { name, problems } => Self {
                problems: problems.iter().map(ProblemJson::from).collect(),
                ..Self::new(&skipped.file, "faulty", name.as_deref())
            },
            SkipReason::Shadowed { name, by } => {
                Self { by: Some(by), ..Self::new(&skipped.file, "shadowed", Some(name)) }
            }
            _ => Self::new(&skipped.file, "name", None),
        }
    }
}
