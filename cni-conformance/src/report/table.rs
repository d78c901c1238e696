//! The report for people: a line for each check, then everything about those that failed.

use std::fmt::{self, Display, Formatter};

use super::{CheckReport, Finding, Outcome, Report};
use crate::catalog::Severity;

/// How many reasons of a check are listed.
const LISTED: usize = 10;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "plugin {:?}, tested in {}", self.plugin, self.versions.join(", "))?;
        let kind = if self.real_netns { "" } else { ", which does not exist" };
        writeln!(f, "network namespace {:?}{kind}", self.netns)?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        writeln!(f)?;
        for check in &self.checks {
            line(f, check)?;
        }
        for check in self.failed() {
            if let Outcome::Failed { findings } = &check.outcome {
                writeln!(f, "\n{} {}: {}\n  {}", check.severity, check.id, check.clause, check.link)?;
                details(f, findings)?;
            }
        }
        summary(f, self)
    }
}

fn line(f: &mut Formatter<'_>, check: &CheckReport) -> fmt::Result {
    let (word, told) = match &check.outcome {
        Outcome::Passed { .. } => ("ok", check.clause),
        Outcome::Failed { .. } => ("FAILED", check.clause),
        Outcome::Skipped { reason } => ("skipped", reason.as_str()),
    };
    writeln!(f, "{word:<7}  {:<6}  {:<23}  {told}", check.severity, check.id)
}

/// The first finding with the exchange, which shows what is wrong; of the others, which are much the same, the reasons.
fn details(f: &mut Formatter<'_>, findings: &[Finding]) -> fmt::Result {
    let mut reasons: Vec<(&Finding, usize)> = Vec::new();
    for finding in findings {
        match reasons.iter_mut().find(|(known, _)| known.reason == finding.reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((finding, 1)),
        }
    }
    for (at, (finding, count)) in reasons.iter().take(LISTED).enumerate() {
        let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        writeln!(f, "  - {}{times}", finding.reason)?;
        if at == 0 {
            exchange(f, finding)?;
        }
    }
    match reasons.len().checked_sub(LISTED) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(f, "  - and {more} more"),
    }
}

fn exchange(f: &mut Formatter<'_>, finding: &Finding) -> fmt::Result {
    let Finding { reason: _, sent, received } = finding;
    for (name, value) in &sent.environment {
        writeln!(f, "      {name}={value}")?;
    }
    block(f, "stdin", &sent.stdin)?;
    writeln!(f, "    gave {}", received.exit)?;
    block(f, "stdout", &received.stdout)?;
    block(f, "stderr", &received.stderr)
}

fn block(f: &mut Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    if text.trim().is_empty() {
        return writeln!(f, "      {name} was empty");
    }
    writeln!(f, "      {name}:")?;
    text.trim_end().lines().try_for_each(|line| writeln!(f, "        {line}"))
}

fn summary(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let [passed, failed, skipped] = report.counts();
    write!(f, "\n{passed} passed, {failed} failed")?;
    if failed > 0 {
        let musts = report.failed().filter(|check| check.severity == Severity::Must).count();
        write!(f, " ({musts} MUST, {} SHOULD)", failed - musts)?;
    }
    writeln!(f, ", {skipped} skipped")
}
