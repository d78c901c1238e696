//! The runs of plugins: what each did, and where the time went.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use libcni::cni_invoke::{Environment, Exit};
use libcni::{PluginEnd, PluginRun};
use serde::ser::{Serialize, Serializer};

use super::error::with_causes;
use super::table::table;
use super::{Console, Style};
use crate::trace::{Ending, Run};

/// How runs are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TraceFormat {
    // A table, when all is done.
    Text,
    // A line of JSON a run as it ends, with all that went in and came out.
    Json,
}

/// How many characters stand for the whole time.
const BAR: usize = 24;

impl Console {
    /// Shows all runs, in the order in which they began.
    pub(crate) fn trace(self, runs: &[Run], total: Duration) {
        self.stderr(&text(runs, total, self.style_of_stderr()));
    }

    /// Shows one run as it ends, with all that went in and came out.
    pub(crate) fn trace_event(self, order: usize, recorded: &Run, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
        self.event(&Event::new(order, recorded, run, end));
    }
}

fn text(runs: &[Run], total: Duration, style: Style) -> String {
    let attachments: BTreeSet<_> = runs.iter().map(|run| &run.attachment).collect();
    let rows: Vec<_> = runs
        .iter()
        .enumerate()
        .map(|(at, run)| {
            let mut notes: Vec<_> = run.changes.clone().into_iter().flatten().collect();
            if run.changes.as_ref().is_some_and(Vec::is_empty) {
                notes.push("unchanged".to_owned());
            }
            // Whose run it was goes without saying if there is only one.
            if let (Some((id, ifname)), true) = (&run.attachment, attachments.len() > 1) {
                notes.insert(0, format!("{id} {ifname}"));
            }
            let ending = run.ending.to_string();
            [
                (at + 1).to_string(),
                run.command.to_string(),
                run.plugin.to_string(),
                time(run.duration),
                bar(run.start, run.duration, total),
                if run.ending.is_good() { ending } else { style.red(&ending) },
                notes.join(", "),
            ]
        })
        .collect();
    let headings = ["#", "COMMAND", "PLUGIN", "TIME", "WHEN", "EXIT", "RESULT"];
    let in_plugins = union(runs.iter().map(|run| (run.start, run.start + run.duration)).collect());
    let total = format!("total {}, {} of it in plugins\n", time(total), time(in_plugins));
    if runs.is_empty() { total } else { table(headings, &rows, style) + &total }
}

/// When something happened, as a piece of the whole time.
fn bar(start: Duration, duration: Duration, total: Duration) -> String {
    let cell = |at: Duration| {
        let share = if total.is_zero() { 0.0 } else { at.as_secs_f64() / total.as_secs_f64() };
        // Between 0 and the number of cells, so that nothing is cut off.
        (share.clamp(0.0, 1.0) * BAR as f64).round() as usize
    };
    let first = cell(start).min(BAR - 1);
    let last = cell(start + duration).clamp(first + 1, BAR);
    format!("[{}{}{}]", " ".repeat(first), "#".repeat(last - first), " ".repeat(BAR - last))
}

/// How long any of these lasted: some may have happened side by side.
fn union(mut spans: Vec<(Duration, Duration)>) -> Duration {
    spans.sort_unstable();
    let (mut sum, mut until) = (Duration::ZERO, Duration::ZERO);
    for (start, end) in spans {
        sum += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    sum
}

fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 10.0 { format!("{:.1} ms", seconds * 1000.0) } else { format!("{seconds:.1} s") }
}

impl Ending {
    fn is_good(self) -> bool {
        matches!(self, Self::Exit(_, true))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // An answer that makes no sense, or an error object in spite of it.
            Self::Exit(exit @ Exit::Code(0), false) => write!(f, "{exit}, failed"),
            Self::Exit(exit, _) => exit.fmt(f),
            Self::NotFound => f.write_str("not found"),
            Self::NotStarted => f.write_str("not started"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// A run as a line of JSON.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    event: &'static str,
    /// 1 for the run that ended first.
    order: usize,
    command: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<&'a str>,
    plugin: &'a str,
    /// The plugin's place in the list, from 0, and how many there are.
    position: usize,
    plugins: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    start_ms: f64,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a [String]>,
    environment: Variables<'a>,
    /// What was read and printed, as text: to the byte, if it is UTF-8.
    stdin: String,
    stdout: String,
    stderr: String,
    /// How many bytes of stderr came before those that are kept.
    #[serde(skip_serializing_if = "is_zero")]
    stderr_omitted: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<'a> Event<'a> {
    fn new(order: usize, recorded: &'a Run, run: &PluginRun<'a>, end: &PluginEnd<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = end.error.and_then(|error| error.printed());
        let (stdout, tail) = match (end.output, printed) {
            (Some(output), _) => (&output.stdout[..], Some(&output.stderr)),
            (None, Some(printed)) => (printed.stdout.bytes(), Some(&printed.stderr)),
            (None, None) => (&[][..], None),
        };
        let exit = end.output.map(|output| output.exit);
        Self {
            event: "plugin",
            order,
            command: run.command.as_str(),
            network: run.network,
            plugin: run.plugin.as_str(),
            position: run.position,
            plugins: run.plugins,
            program: run.program.map(|program| program.to_string_lossy().into_owned()),
            start_ms: milliseconds(recorded.start),
            duration_ms: milliseconds(recorded.duration),
            exit_status: exit.and_then(|exit| if let Exit::Code(code) = exit { Some(code) } else { None }),
            signal: exit.and_then(|exit| if let Exit::Signal(signal) = exit { Some(signal) } else { None }),
            error: end.error.map(|error| with_causes(error)),
            changes: recorded.changes.as_deref(),
            environment: Variables(run.environment),
            stdin: text(run.stdin),
            stdout: text(stdout),
            stderr: tail.map(|tail| text(tail.bytes())).unwrap_or_default(),
            stderr_omitted: tail.map(|tail| tail.omitted()).unwrap_or_default(),
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

/// An environment as an object.
struct Variables<'a>(&'a Environment);

impl Serialize for Variables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.0.iter().map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    fn run(plugin: &str, start: u64, duration: u64, ending: Ending, changes: Option<&[&str]>) -> Run {
        Run {
            command: libcni::cni_types::Command::Add,
            plugin: plugin.parse().unwrap(),
            attachment: Some(("c1".to_owned(), "eth0".to_owned())),
            start: ms(start),
            duration: ms(duration),
            ending,
            changes: changes.map(|changes| changes.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn the_table_tells_order_time_exit_and_change() {
        let good = Ending::Exit(Exit::SUCCESS, true);
        let runs = [
            run("bridge", 2, 40, good, Some(&["+interface eth0", "+ip 10.1.0.5/16"])),
            run("tuning", 45, 5, good, Some(&[])),
            run("portmap", 50, 50, Ending::Exit(Exit::Signal(9), false), None),
            run("x", 100, 0, Ending::NotFound, None),
            run("y", 100, 12_000, Ending::Exit(Exit::SUCCESS, false), None),
        ];
        insta::assert_snapshot!(text(&runs[..4], ms(100), Style::new(false)));
        let last = text(&runs[4..], ms(12_100), Style::new(false));
        assert!(last.contains("12.0 s") && last.contains("exit status 0, failed"), "{last}");
        assert_eq!(text(&[], ms(1), Style::new(false)), "total 1.0 ms, 0.0 ms of it in plugins\n");
    }

    #[test]
    fn runs_of_several_containers_are_told_apart() {
        let good = Ending::Exit(Exit::SUCCESS, true);
        let other = Run { attachment: None, ..run("bridge", 5, 5, good, None) };
        let told = text(&[run("bridge", 0, 5, good, None), other], ms(10), Style::new(false));
        assert_eq!(told.matches("c1 eth0").count(), 1, "{told}");
    }

    #[test]
    fn a_bar_is_never_empty_and_never_too_long() {
        for (start, duration, total) in [(0, 0, 0), (5, 0, 5), (0, 5, 5), (3, 9, 5), (9, 1, 5)] {
            let bar = bar(ms(start), ms(duration), ms(total));
            assert!(bar.len() == BAR + 2 && bar.contains('#'), "{bar}");
        }
    }

    #[test]
    fn what_runs_side_by_side_counts_once() {
        let spans = [(0, 10), (5, 15), (20, 30), (22, 25)].map(|(start, end)| (ms(start), ms(end)));
        assert_eq!(union(spans.to_vec()), ms(25));
    }
}
