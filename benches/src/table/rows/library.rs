//! Decoding, converting and printing, without a process around it.

use cni_benches::{RESULT, gc_request, routes};

use crate::table::Bench;
use crate::table::measure::{self, Program};
use crate::table::report::{Goal, Report, mark, time};
use crate::table::stats::median;

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let ours = programs.library();
    let go = programs.go.is_ok().then(|| programs.peer("go/library"));
    let work = |path: &std::path::Path, work: &str, times: usize, input: &str| {
        Program::new(path).args([work, &times.to_string()]).stdin(input)
    };
    // CPU time, start and reading included: the work is one thread's, and there is enough of it.
    let in_turn = |programs: &[Program], times: usize, rounds: usize| {
        let samples = measure::in_turn(&programs.iter().collect::<Vec<_>>(), rounds);
        let each =
            samples.iter().map(|samples| samples.iter().map(|sample| sample.cpu / times as f64).collect());
        each.collect::<Vec<Vec<f64>>>()
    };

    report.section(
        "Decoding, converting and printing, in CPU time",
        &["work", "ours", "peer", "takes", "", "goal", ""],
    );
    let thousand = routes(1000);
    for (name, input, times) in [
        ("a result of 3 interfaces: decode, convert 1.0.0 → 0.4.0, print", RESULT, 20_000),
        ("the same of a result with 1,000 routes", thousand.as_str(), 300),
    ] {
        let mut all = vec![work(&ours, "result", times, input), work(&ours, "result-plain", times, input)];
        all.extend(go.as_deref().map(|go| work(go, "result", times, input)));
        let measured = in_turn(&all, times, bench.rounds(12));
        report.times(
            name,
            "serde_json with derived types alone",
            &measured[0],
            &measured[1],
            None,
            Goal::AtMost(1.5),
        );
        if let Some(go) = measured.get(2) {
            report.times(name, "Go's library", &measured[0], go, None, Goal::Faster(8.0));
            // How far from Go the JSON library itself is: what this one can hardly get beyond.
            let plain = format!("{name}, by serde_json with derived types alone");
            report.times(&plain, "Go's library", &measured[1], go, None, Goal::Faster(8.0));
        }
    }

    let sizes = [10_000, 100_000];
    let mut per_attachment = Vec::new();
    for size in sizes {
        let input = gc_request(size);
        let times = 500_000 / size;
        let mut all = vec![work(&ours, "gc", times, &input), work(&ours, "gc-plain", times, &input)];
        all.extend(go.as_deref().map(|go| work(go, "gc", times, &input)));
        let measured = in_turn(&all, times, bench.rounds(8));
        per_attachment.push(median(measured[0].iter().copied()) / size as f64);
        if let Some(go) = measured.get(2) {
            let name = format!("a GC request of {size} attachments: decode");
            report.times(&name, "Go's library", &measured[0], go, None, Goal::Faster(4.0));
            let plain = format!("{name}, by serde_json with derived types alone");
            report.times(&plain, "Go's library", &measured[1], go, None, Goal::Faster(4.0));
        }
    }
    let growth = per_attachment[1] / per_attachment[0];
    report.row(&[
        "an attachment of 100,000",
        &time(per_attachment[1]),
        "an attachment of 10,000",
        &time(per_attachment[0]),
        &format!("{growth:.2} ×"),
        "linear: ≤ 1.5 ×",
        mark(Some(growth <= 1.5)),
    ]);
}
