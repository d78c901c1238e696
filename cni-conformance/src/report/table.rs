//! The report for people: a line for each check, then everything about those that failed.

use std::fmt::{self, Display, Formatter};

use super::{CheckReport, Finding, Outcome, Report};
use crate::catalog::Severity;

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
                for (index, finding) in findings.iter().enumerate() {
                    // One exchange shows what is wrong; the others differ in the version alone.
                    detail(f, finding, index == 0)?;
                }
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

fn detail(f: &mut Formatter<'_>, finding: &Finding, whole: bool) -> fmt::Result {
    let Finding { reason, sent, received } = finding;
    writeln!(f, "  - {reason}")?;
    if !whole {
        return Ok(());
    }
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
