//! ADD with a `prevResult`, whole processes.

use cni_benches::{ENVIRONMENT, request};

use crate::table::Bench;
use crate::table::measure::{Program, in_turn};
use crate::table::report::{Goal, Report};

const GIVES_BACK: &str = "a plugin that gives `prevResult` back";
const EMPTY: &str = "an empty Rust program built alike";
const ECHO: &str = "a Rust program that writes its stdin back";
const PLAIN: &str = "that plugin by serde_json's derives alone, one version, no checks";
const C: &str = "a C program that returns 0, `gcc -static` (glibc)";

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let call = |path, plugin: &str| Program::new(path).env(ENVIRONMENT).stdin(request(plugin));
    let rounds = bench.rounds(600);

    let noop = call(programs.of_static("noop"), "noop");
    let plugin = call(programs.of_static("passthrough"), "passthrough");
    let empty = call(programs.peer("empty-static"), "empty");
    let echo = call(programs.peer("echo-static"), "echo");
    let plain = call(programs.of_static("plain"), "plain");
    let c = call(programs.peer("c-static"), "empty");
    let c_musl = call(programs.peer("c-musl"), "empty");
    let go_noop = call(programs.peer("go/noop"), "noop");
    let go_plugin = call(programs.peer("go/passthrough"), "passthrough");
    let mut all = vec![&noop, &plugin, &empty, &echo, &plain, &c, &c_musl];
    if programs.go.is_ok() {
        all.extend([&go_noop, &go_plugin]);
    }
    let samples = in_turn(&all, rounds);
    let [empty, echo, plain, c, c_musl] = [2, 3, 4, 5, 6].map(|at| &samples[at]);
    report.comparisons("One ADD with a `prevResult`, static release builds");
    for (name, ours, go) in [("`noop`", 0, 7), (GIVES_BACK, 1, 8)] {
        let ours = &samples[ours];
        report.compare(name, EMPTY, ours, empty, Goal::AtMost(1.3));
        report.compare(name, C, ours, c, Goal::AtMost(1.6));
        report.compare(name, "the same with musl, as ours", ours, c_musl, Goal::None);
        if let Some(go) = samples.get(go) {
            report.compare(name, "the same plugin in Go", ours, go, Goal::Faster(6.0));
        }
    }
    report.comparisons("Where the limit is: what less costs, built alike");
    report.compare(ECHO, EMPTY, echo, empty, Goal::None);
    report.compare(PLAIN, EMPTY, plain, empty, Goal::None);
    report.compare(GIVES_BACK, ECHO, &samples[1], echo, Goal::None);
    report.compare(GIVES_BACK, PLAIN, &samples[1], plain, Goal::None);

    let noop = call(programs.of_dynamic("noop"), "noop");
    let plugin = call(programs.of_dynamic("passthrough"), "passthrough");
    let empty = call(programs.peer("empty-dynamic"), "empty");
    let echo = call(programs.peer("echo-dynamic"), "echo");
    let mut all = vec![&noop, &plugin, &empty, &echo];
    let rscni = programs.rscni.as_ref().ok().map(|path| call(path.clone(), "passthrough"));
    all.extend(&rscni);
    let samples = in_turn(&all, rounds);
    let [empty, echo] = [2, 3].map(|at| &samples[at]);
    report.comparisons("The same, ordinary dynamic release builds");
    for (name, ours) in [("`noop`", 0), (GIVES_BACK, 1)] {
        report.compare(name, EMPTY, &samples[ours], empty, Goal::AtMost(1.1));
        report.compare(name, ECHO, &samples[ours], echo, Goal::None);
    }
    if let Some(rscni) = samples.get(4) {
        report.compare(GIVES_BACK, "the same plugin on rscni-plugin", &samples[1], rscni, Goal::AtMost(1.0));
    }
}
