//! A runtime that removes thousands of stale attachments.

use std::path::Path;

use serde_json::{Value, json};

use crate::table::Bench;
use crate::table::measure::Program;
use crate::table::report::{Goal, Report, mark, time};
use crate::table::rows::chain::cnitool;

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let Ok(_) = &programs.go else { return };
    let root = tempfile::tempdir().unwrap();
    let list = json!({"cniVersion": "1.0.0", "name": "chain", "plugins": [{"type": "noop"}]});
    std::fs::write(root.path().join("chain.conflist"), list.to_string()).unwrap();
    let runtime = |command: &str| {
        Program::new(programs.peer("go/runtime")).env([("PATH", "/usr/bin:/bin")]).args([
            command,
            &root.path().to_string_lossy(),
            &programs.peer("go").to_string_lossy(),
            &root.path().join("go").to_string_lossy(),
            "chain",
        ])
    };
    let ours =
        cnitool(&programs.of_static("cnitool"), &programs.plugin_dir(), root.path()).args(["gc", "chain"]);
    let go = runtime("gc");
    // One real entry, of which the others are copies.
    runtime("add").run();
    let template = std::fs::read(root.path().join("go/results/chain-bench-eth0")).unwrap();
    let template: Value = serde_json::from_slice(&template).unwrap();

    let timed = |program: &Program, cache: &str, stale: usize| {
        fill(&root.path().join(cache).join("results"), &template, stale);
        // `cnitool` tells each attachment that is gone, which is more than a pipe takes.
        let sample = program.run_unheard();
        let left = std::fs::read_dir(root.path().join(cache).join("results")).unwrap().count();
        assert_eq!(left, 0, "GC leaves nothing behind");
        (sample.wall, sample.cpu)
    };
    let few = 10_000 / 10 / bench.haste;
    let (mut our_times, mut go_times) = (Vec::new(), Vec::new());
    let (mut our_cpu, mut go_cpu) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (wall, cpu) = timed(&ours, "ours", few);
        our_times.push(wall);
        our_cpu.push(cpu);
        let (wall, cpu) = timed(&go, "go", few);
        go_times.push(wall);
        go_cpu.push(cpu);
    }
    report.comparisons("libcni: GC of stale attachments, a DEL of `noop` for each");
    let cpu = crate::table::stats::Ratio::of(&go_cpu, &our_cpu).to_string();
    report.times(
        &format!("{few} stale of {few}: `cnitool gc`, four at a time"),
        "a program on Go's libcni 1.1, which has no GC: DEL for each, with Go's noop",
        &our_times,
        &go_times,
        Some(&cpu),
        Goal::Faster(3.0),
    );
    let (many, _) = timed(&ours, "ours", few * 10);
    let single = crate::table::stats::median(our_times.iter().copied()) / few as f64;
    let growth = many / (few * 10) as f64 / single;
    report.row(&[
        &format!("one of {} stale", few * 10),
        &time(many / (few * 10) as f64),
        &format!("one of {few}"),
        &time(single),
        &format!("{growth:.2} ×"),
        "",
        "linear: ≤ 1.5 ×",
        mark(Some(growth <= 1.5)),
    ]);
}

/// Attachments as Go's libcni caches them, which ours reads, too.
fn fill(results: &Path, template: &Value, count: usize) {
    let _ = std::fs::remove_dir_all(results);
    std::fs::create_dir_all(results).unwrap();
    let mut entry = template.clone();
    for n in 0..count {
        let id = format!("{n:064x}");
        entry["containerId"] = json!(id);
        std::fs::write(results.join(format!("chain-{id}-eth0")), entry.to_string()).unwrap();
    }
}
