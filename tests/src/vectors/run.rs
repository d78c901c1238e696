//! Runs the cases of one file through an adapter and holds the answers against Go's and against the list of deviations.
//!
//! A case passes if we answer as Go did, or if it is listed and every difference is one of those declared. A case that
//! matches a listed entry must differ in a way that the entry declares, or the entry is out of date; only where an entry says
//! that it concerns `some` cases of a name, the others may be as Go's. In the committed
//! folder every pattern and every clause of the list must be needed by some case; in another folder, which may hold
//! other cases of the families, a pattern without a case is fine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    case::Case,
    clause::Clause,
    deviations::Deviation,
    diff::{self, Diff},
    json::Json,
};

/// What an adapter gives back for a case.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Our answer in the common form of [`diff`].
    Given(Json),
    /// This machine lacks something the case needs.
    Skipped(String),
    /// The question cannot be put to our code; must be listed.
    NoCounterpart(String),
}

/// Puts the cases of one vector file to our code.
pub trait Adapter: Sync {
    /// Go's answer in the common form of [`diff`]; `expect` is one of the case's two.
    fn expected(&self, case: &Case, expect: &Json) -> Json;

    /// Our answer.
    fn answer(&self, case: &Case) -> Answer;

    /// The document that went in, for clauses that refer to it.
    fn source(&self, case: &Case) -> Option<Json>;
}

/// How a case ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// As Go.
    Equal,
    /// Differs as listed; which patterns and clauses of which entries were needed.
    Listed(Vec<Use>),
    /// Not run.
    Skipped(String),
    /// Wrong.
    Failed(Failure),
}

/// One clause at work on one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Index of the entry in the list.
    pub entry: usize,
    /// Index of the pattern that matched.
    pub pattern: usize,
    /// Index of the clause that explained a difference.
    pub clause: usize,
}

/// A case that failed, with all that is needed to understand it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What rule it broke.
    pub why: String,
    /// The case.
    pub case: Case,
    /// Our answer, where there is one.
    pub ours: Option<Json>,
    /// Where it differs.
    pub diffs: Vec<Diff>,
}

/// What came of a whole file.
#[derive(Debug)]
pub struct Summary {
    /// The vector file.
    pub file: &'static str,
    /// Cases run or skipped.
    pub cases: usize,
    /// Cases answered as Go did.
    pub equal: usize,
    /// Cases that differ as listed.
    pub listed: usize,
    /// Cases not run, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Cases that failed.
    pub failures: Vec<Failure>,
    /// Patterns and clauses of the list that nothing needs.
    pub stale: Vec<String>,
    /// What of the list was at work.
    pub uses: Vec<Use>,
}

/// The list without the patterns and clauses that nothing needed, for a check that what is left holds for other cases.
pub fn needed(list: &[Deviation], file: &str, uses: &[Use]) -> Vec<Deviation> {
    let mut left = Vec::new();
    for (index, entry) in list.iter().enumerate().filter(|(_, entry)| entry.file == file) {
        let mut entry = entry.clone();
        let at_work = |of: fn(&Use) -> usize, number: usize| {
            uses.iter().any(|used| used.entry == index && of(used) == number)
        };
        let clauses = entry.clauses.into_iter().zip(entry.clause_texts).enumerate();
        (entry.clauses, entry.clause_texts) = clauses
            .filter(|(number, _)| at_work(|used| used.clause, *number))
            .map(|(_, clause)| clause)
            .unzip();
        let patterns = entry.patterns.into_iter().enumerate();
        entry.patterns =
            patterns.filter(|(number, _)| at_work(|used| used.pattern, *number)).map(|(_, it)| it).collect();
        left.push(entry);
    }
    left
}

/// Runs `cases`. `committed`: whether this is the folder for which the list was written.
pub fn run(
    file: &'static str,
    cases: &[Case],
    adapter: &dyn Adapter,
    list: &[Deviation],
    committed: bool,
) -> Summary {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let chunk = cases.len().div_ceil(threads).max(1);
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let workers: Vec<_> = cases
            .chunks(chunk)
            .map(|part| {
                scope.spawn(move || part.iter().map(|case| outcome(case, adapter, list)).collect::<Vec<_>>())
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    let mut summary = Summary {
        file,
        cases: cases.len(),
        equal: 0,
        listed: 0,
        skipped: Vec::new(),
        failures: Vec::new(),
        stale: Vec::new(),
        uses: Vec::new(),
    };
    for (case, outcome) in cases.iter().zip(outcomes) {
        match outcome {
            Outcome::Equal => summary.equal += 1,
            Outcome::Listed(more) => {
                summary.listed += 1;
                summary.uses.extend(more);
            }
            Outcome::Skipped(why) => summary.skipped.push((case.name.clone(), why)),
            Outcome::Failed(failure) => summary.failures.push(failure),
        }
    }
    // A skipped or failed case may be the one that a pattern is for.
    if committed && summary.skipped.is_empty() && summary.failures.is_empty() {
        summary.stale = stale(file, list, &summary.uses);
    }
    summary
}

fn stale(file: &str, list: &[Deviation], uses: &[Use]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, entry) in list.iter().enumerate().filter(|(_, entry)| entry.file == file) {
        if entry.elsewhere {
            if uses.iter().any(|used| used.entry == index) {
                found.push(format!("{}: is said to have no case here, but has", entry.label()));
            }
            continue;
        }
        for (number, pattern) in entry.patterns.iter().enumerate() {
            if !uses.iter().any(|used| used.entry == index && used.pattern == number) {
                found.push(format!("{}: no case differs by the pattern {:?}", entry.label(), pattern.text));
            }
        }
        for (clause, text) in entry.clause_texts.iter().enumerate() {
            if !uses.iter().any(|used| used.entry == index && used.clause == clause) {
                found.push(format!("{}: no case differs as in {text:?}", entry.label()));
            }
        }
    }
    found
}

fn outcome(case: &Case, adapter: &dyn Adapter, list: &[Deviation]) -> Outcome {
    let failed = |why: String, ours: Option<Json>, diffs: Vec<Diff>| {
        Outcome::Failed(Failure { why, case: case.clone(), ours, diffs })
    };
    let go = adapter.expected(case, &case.expect);
    // A panic in our code is a finding about one case, not the end of the run.
    let ours = match catch_unwind(AssertUnwindSafe(|| adapter.answer(case))) {
        Err(_) => return failed("our code panics".to_owned(), None, Vec::new()),
        Ok(Answer::Skipped(why)) => return Outcome::Skipped(why),
        Ok(Answer::NoCounterpart(why)) => Err(why),
        Ok(Answer::Given(ours)) => Ok(ours),
    };
    let diffs = match &ours {
        Err(why) => vec![Diff::NoCounterpart { why: why.clone() }],
        Ok(ours) => match &case.expect_v1 {
            Some(v1) if diff::compare(&adapter.expected(case, v1), ours, case.stdlib_text).is_empty() => {
                Vec::new()
            }
            _ => diff::compare(&go, ours, case.stdlib_text),
        },
    };
    let source = adapter.source(case);
    let applicable: Vec<(usize, Vec<usize>, &Deviation)> = list
        .iter()
        .enumerate()
        .map(|(index, entry)| (index, entry.matching(case, &go), entry))
        .filter(|(_, patterns, _)| !patterns.is_empty())
        .collect();
    let (mut uses, mut unexplained) = (Vec::new(), Vec::new());
    for diff in &diffs {
        let before = uses.len();
        for (entry, patterns, deviation) in &applicable {
            for (clause, it) in deviation.clauses.iter().enumerate() {
                if it.explains(diff, case, source.as_ref()) {
                    uses.extend(patterns.iter().map(|&pattern| Use { entry: *entry, pattern, clause }));
                }
            }
        }
        // Where Go crashed any answer will do, unless the list says which.
        let free = matches!(diff, Diff::Panicked { .. })
            && !applicable.iter().any(|(.., entry)| entry.clauses.iter().any(Clause::speaks_of_the_verdict));
        if uses.len() == before && !free {
            unexplained.push(diff.clone());
        }
    }
    // Where the verdicts differ there is nothing left within them that other entries could speak of.
    let verdict_differs = diffs.iter().any(|diff| {
        matches!(
            diff,
            Diff::Refused { .. } | Diff::Accepted { .. } | Diff::Panicked { .. } | Diff::NoCounterpart { .. }
        )
    });
    let idle: Vec<String> = applicable
        .iter()
        .filter(|(index, patterns, entry)| {
            let must_differ = patterns.iter().any(|&pattern| entry.patterns[pattern].all);
            must_differ && !verdict_differs && !uses.iter().any(|used| used.entry == *index)
        })
        .map(|(_, _, entry)| entry.label())
        .collect();
    if !unexplained.is_empty() {
        let why = if applicable.is_empty() {
            "differs and is not listed".to_owned()
        } else {
            let labels: Vec<String> = applicable.iter().map(|(_, _, entry)| entry.label()).collect();
            format!("differs otherwise than listed under {}", labels.join(" and "))
        };
        return failed(why, ours.ok(), unexplained);
    }
    if !idle.is_empty() {
        return failed(
            format!("is listed, but does not differ so: {}", idle.join(" and ")),
            ours.ok(),
            diffs,
        );
    }
    if uses.is_empty() { Outcome::Equal } else { Outcome::Listed(uses) }
}

#[cfg(test)]
mod tests;
