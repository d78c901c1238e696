//! The table: printed as it grows, and written into `docs/benchmarks.md` between two marks, so that what people wrote
//! around it stays.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::builds::{Programs, workspace};
use super::measure::{Sample, each};
use super::stats::{Ratio, median};

const BEGIN: &str = "<!-- written by `cargo run -p cni-benches` -->";
const END: &str = "<!-- end of what is written by the command -->";

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// Ours takes at most this many times what the peer takes.
    AtMost(f64),
    /// The peer takes at least this many times what ours takes.
    Faster(f64),
    /// There is none.
    None,
}

pub(super) struct Report {
    text: String,
}

impl Report {
    pub(super) fn new(programs: &Programs) -> Self {
        let mut report = Self { text: String::new() };
        let go = programs.go.as_ref().map_or_else(
            |missing| format!("left out: {missing}"),
            |go| {
                format!(
                    "{}, with Debian's golang-github-appc-cni-dev {}",
                    go.version,
                    package("golang-github-appc-cni-dev")
                )
            },
        );
        report.paragraph(&format!(
            "- Date: {}\n- Machine: {}, {} cores, Linux {}\n- Load when the run began: {}\n- Rust: {}\n- Go: {go}\n- Go's plugins: Debian's containernetworking-plugins {}\n- Rust peer: {}",
            first_line("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            cpu(),
            std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            first_line("uname", &["-r"]),
            std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
            first_line("rustc", &["--version"]),
            package("containernetworking-plugins"),
            programs.rscni.as_ref().map_or_else(|missing| format!("left out: {missing}"), |_| "rscni-plugin 0.5".to_owned()),
        ));
        report
    }

    fn line(&mut self, line: &str) {
        println!("{line}");
        let _ = writeln!(self.text, "{line}");
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.line("");
        self.line(text);
    }

    /// Begins a section with a table of these columns.
    pub(super) fn section(&mut self, title: &str, columns: &[&str]) {
        self.paragraph(&format!("### {title}"));
        self.line("");
        self.row(columns);
        self.row(&vec!["---"; columns.len()]);
    }

    pub(super) fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    /// Begins a section of comparisons.
    pub(super) fn comparisons(&mut self, title: &str) {
        self.section(title, &["work", "ours", "peer", "takes", "wall", "CPU", "goal", ""]);
    }

    /// A comparison of two programs that were run in turn.
    pub(super) fn compare(&mut self, work: &str, peer: &str, ours: &[Sample], theirs: &[Sample], goal: Goal) {
        let wall = |samples: &[Sample]| each(samples, |sample| sample.wall);
        let cpu = |samples: &[Sample]| each(samples, |sample| sample.cpu);
        let (ours_wall, theirs_wall) = (wall(ours), wall(theirs));
        let cpu = directed(&cpu(ours), &cpu(theirs), goal);
        self.times(work, peer, &ours_wall, &theirs_wall, Some(&cpu.to_string()), goal);
    }

    /// A comparison of two lists of times in microseconds.
    pub(super) fn times(
        &mut self,
        work: &str,
        peer: &str,
        ours: &[f64],
        theirs: &[f64],
        cpu: Option<&str>,
        goal: Goal,
    ) {
        let ratio = directed(ours, theirs, goal);
        let (wanted, met) = match goal {
            Goal::AtMost(limit) => (format!("≤ {limit} ×"), Some(ratio.median <= limit)),
            Goal::Faster(limit) => (format!("≥ {limit} × faster"), Some(ratio.median >= limit)),
            Goal::None => (String::new(), None),
        };
        let faster = if matches!(goal, Goal::Faster(_)) { " faster" } else { "" };
        let cells = [
            work.to_owned(),
            time(median(ours.iter().copied())),
            peer.to_owned(),
            time(median(theirs.iter().copied())),
            format!("{ratio}{faster}"),
        ];
        let rest = [wanted, mark(met).to_owned()];
        // A table of CPU times has no column for them.
        let cells: Vec<String> = cells.into_iter().chain(cpu.map(str::to_owned)).chain(rest).collect();
        self.row(&cells);
    }

    pub(super) fn write(&self) {
        let path = std::env::var_os("BENCHMARKS_MD")
            .map_or_else(|| workspace().join("docs/benchmarks.md"), PathBuf::from);
        let old = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = old.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        std::fs::write(&path, format!("{before}{BEGIN}\n{}\n{END}{after}", self.text)).unwrap();
        println!("\nWritten to {}", path.display());
    }
}

/// The ratio in the direction in which the goal is told.
fn directed(ours: &[f64], theirs: &[f64], goal: Goal) -> Ratio {
    if matches!(goal, Goal::Faster(_)) { Ratio::of(theirs, ours) } else { Ratio::of(ours, theirs) }
}

/// Whether a goal is met.
pub(super) fn mark(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "",
    }
}

/// A time in microseconds, for people.
pub(super) fn time(micros: f64) -> String {
    match micros {
        _ if micros < 1000.0 => format!("{micros:.1} µs"),
        _ if micros < 1e6 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

fn first_line(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn package(name: &str) -> String {
    first_line("dpkg-query", &["-W", "-f", "${Version}", name])
}

fn cpu() -> String {
    let info = std::fs::read_to_string(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let virtual_machine = if info.contains(" hypervisor ") { ", a virtual machine" } else { "" };
    format!("{}{virtual_machine}", name.map_or("unknown", |(_, name)| name.trim()))
}
