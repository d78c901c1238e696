//! How much memory a call takes, and how large the programs are.

use std::path::Path;

use cni_benches::{ENVIRONMENT, gc_request, request};

use crate::table::Bench;
use crate::table::measure::Program;
use crate::table::report::{Report, mark};
use crate::table::stats::median;

/// As many as a large node could have.
const ATTACHMENTS: usize = 100_000;

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let launcher = programs.of_static("peak");
    let peak = |program: &Program| median((0..5).map(|_| program.peak(&launcher)));
    let call = |path: &Path, plugin: &str| Program::new(path).env(ENVIRONMENT).stdin(request(plugin));

    report.section(
        "Size, and peak memory of that ADD",
        &["program", "stripped size", "goal", "", "peak memory", "goal", ""],
    );
    for (name, path, held) in [
        ("`noop`, static", programs.of_static("noop"), true),
        ("the plugin that gives `prevResult` back, static", programs.of_static("passthrough"), true),
        ("an empty Rust program, static", programs.peer("empty-static"), false),
        ("a Rust program that writes its stdin back, static", programs.peer("echo-static"), false),
        ("that plugin by serde_json's derives alone, static", programs.of_static("plain"), false),
        ("`noop`, dynamic", programs.of_dynamic("noop"), false),
        ("`noop` in Go", programs.peer("go/noop"), false),
    ] {
        if !path.is_file() {
            continue;
        }
        let size = std::fs::metadata(&path).unwrap().len() as f64 / 1024.0;
        let memory = peak(&call(&path, "noop"));
        let goals = if held { ["≤ 700 KiB", "≤ 3 MiB"] } else { ["", ""] };
        report.row(&[
            name,
            &format!("{size:.0} KiB"),
            goals[0],
            mark(held.then_some(size <= 700.0)),
            &format!("{:.2} MiB", memory / 1024.0),
            goals[1],
            mark(held.then_some(memory <= 3.0 * 1024.0)),
        ]);
    }

    let request = gc_request(ATTACHMENTS);
    let input = request.len() as f64 / 1024.0;
    report.section(
        &format!("Peak memory of a GC request with {ATTACHMENTS} attachments"),
        &["program", "input", "peak memory", "of the input", "goal", ""],
    );
    for (name, path) in
        [("static", programs.of_static("passthrough")), ("dynamic", programs.of_dynamic("passthrough"))]
    {
        let call = Program::new(&path)
            .env([("CNI_COMMAND", "GC"), ("CNI_PATH", "/opt/cni/bin")])
            .stdin(request.as_str());
        let memory = peak(&call);
        report.row(&[
            &format!("the plugin, {name}"),
            &format!("{:.1} MiB", input / 1024.0),
            &format!("{:.1} MiB", memory / 1024.0),
            &format!("{:.2} ×", memory / input),
            "≤ 3 ×",
            mark(Some(memory <= 3.0 * input)),
        ]);
    }
}
