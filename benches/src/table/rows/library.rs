//! Decoding, converting and printing, without a process around it.

use cni_benches::{RESULT, gc_request, routes};

use crate::table::Bench;
use crate::table::measure::Program;
use crate::table::report::{Goal, Report, mark, time};
use crate::table::stats::median;

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let ours = programs.of_dynamic("library");
    let go = programs.go.is_ok().then(|| programs.peer("go/library"));
    let work = |path: &std::path::Path, work: &str, times: usize, input: &str| {
        Program::new(path).args([work, &times.to_string()]).stdin(input)
    };
    // Each program measures itself, over enough repetitions; what it prints is in nanoseconds.
    let in_turn = |programs: &[Program], rounds: usize| {
        let mut times = vec![Vec::new(); programs.len()];
        for _ in 0..rounds {
            for (program, times) in programs.iter().zip(&mut times) {
                times.push(program.run().1.trim().parse::<f64>().unwrap() / 1e3);
            }
        }
        times
    };

    report.section(
        "Decoding, converting and printing",
        &["work", "ours", "peer", "takes", "wall", "CPU", "goal", ""],
    );
    let thousand = routes(1000);
    for (name, input, times) in [
        ("a result of 3 interfaces: decode, convert 1.0.0 → 0.4.0, print", RESULT, 2000),
        ("the same of a result with 1,000 routes", thousand.as_str(), 30),
    ] {
        let mut all = vec![work(&ours, "result", times, input), work(&ours, "result-plain", times, input)];
        all.extend(go.as_deref().map(|go| work(go, "result", times, input)));
        let measured = in_turn(&all, bench.rounds(30));
        report.times(
            name,
            "serde_json with derived types alone",
            &measured[0],
            &measured[1],
            "",
            Goal::AtMost(1.5),
        );
        if let Some(go) = measured.get(2) {
            report.times(name, "Go's library", &measured[0], go, "", Goal::Faster(8.0));
        }
    }

    let sizes = [10_000, 100_000];
    let mut per_attachment = Vec::new();
    for size in sizes {
        let input = gc_request(size);
        let mut all = vec![work(&ours, "gc", 1, &input)];
        all.extend(go.as_deref().map(|go| work(go, "gc", 1, &input)));
        let measured = in_turn(&all, bench.rounds(10));
        per_attachment.push(median(measured[0].iter().copied()) / size as f64);
        if let Some(go) = measured.get(1) {
            let name = format!("a GC request of {size} attachments: decode");
            report.times(&name, "Go's library", &measured[0], go, "", Goal::Faster(4.0));
        }
    }
    let growth = per_attachment[1] / per_attachment[0];
    report.row(&[
        "an attachment of 100,000",
        &time(per_attachment[1]),
        "an attachment of 10,000",
        &time(per_attachment[0]),
        &format!("{growth:.2} ×"),
        "",
        "linear: ≤ 1.5 ×",
        mark(Some(growth <= 1.5)),
    ]);
}
