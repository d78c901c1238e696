//! ADD with a `prevResult`, whole processes.

use cni_benches::{ENVIRONMENT, request};

use crate::table::Bench;
use crate::table::measure::{Program, in_turn};
use crate::table::report::{Goal, Report};

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let call = |path, plugin: &str| Program::new(path).env(ENVIRONMENT).stdin(request(plugin));
    let rounds = bench.rounds(600);

    let noop = call(programs.of_static("noop"), "noop");
    let plugin = call(programs.of_static("passthrough"), "passthrough");
    let rust = call(programs.peer("empty-static"), "empty");
    let c = call(programs.peer("c-static"), "empty");
    let c_musl = call(programs.peer("c-musl"), "empty");
    let go_noop = call(programs.peer("go/noop"), "noop");
    let go_plugin = call(programs.peer("go/passthrough"), "passthrough");
    let mut all = vec![&noop, &plugin, &rust, &c, &c_musl];
    if programs.go.is_ok() {
        all.extend([&go_noop, &go_plugin]);
    }
    let samples = in_turn(&all, rounds);
    report.comparisons("One ADD with a `prevResult`, static release builds");
    for (name, ours, go) in [("`noop`", 0, 5), ("a plugin that gives `prevResult` back", 1, 6)] {
        report.compare(
            name,
            "an empty Rust program built alike",
            &samples[ours],
            &samples[2],
            Goal::AtMost(1.3),
        );
        report.compare(
            name,
            "a C program that returns 0, `gcc -static` (glibc)",
            &samples[ours],
            &samples[3],
            Goal::AtMost(1.6),
        );
        report.compare(name, "the same with musl, as ours", &samples[ours], &samples[4], Goal::None);
        if let Some(go) = samples.get(go) {
            report.compare(name, "the same plugin in Go", &samples[ours], go, Goal::Faster(6.0));
        }
    }

    let noop = call(programs.of_dynamic("noop"), "noop");
    let plugin = call(programs.of_dynamic("passthrough"), "passthrough");
    let rust = call(programs.peer("empty-dynamic"), "empty");
    let mut all = vec![&noop, &plugin, &rust];
    let rscni = programs.rscni.as_ref().ok().map(|path| call(path.clone(), "passthrough"));
    all.extend(&rscni);
    let samples = in_turn(&all, rounds);
    report.comparisons("The same, ordinary dynamic release builds");
    report.compare("`noop`", "an empty Rust program", &samples[0], &samples[2], Goal::AtMost(1.1));
    let name = "a plugin that gives `prevResult` back";
    report.compare(name, "an empty Rust program", &samples[1], &samples[2], Goal::AtMost(1.1));
    if let Some(rscni) = samples.get(3) {
        report.compare(name, "the same plugin on rscni-plugin", &samples[1], rscni, Goal::AtMost(1.0));
    }
}
