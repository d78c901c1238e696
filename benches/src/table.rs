//! The order of the table's sections, and which of them are wanted.

mod builds;
mod measure;
mod report;
mod rows;
mod stats;

use builds::Programs;
use report::Report;

/// What a section needs.
struct Bench {
    programs: Programs,
    /// Divides the number of rounds.
    haste: usize,
}

impl Bench {
    fn rounds(&self, rounds: usize) -> usize {
        (rounds / self.haste).max(3)
    }
}

type Section = fn(&Bench, &mut Report);

const SECTIONS: [(&str, Section); 8] = [
    ("start", rows::start::run),
    ("memory", rows::memory::run),
    ("library", rows::library::run),
    ("chain", rows::chain::run),
    ("kernel", rows::kernel::run),
    ("reservations", rows::reservations::run),
    ("gc", rows::gc::run),
    ("build", rows::build::run),
];

pub(crate) fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    // In a network namespace of its own, started by the section of this name.
    if let [word, plan] = words.as_slice()
        && word == rows::kernel::INSIDE
    {
        return rows::kernel::inside(plan);
    }
    let quick = words.iter().any(|word| word == "--quick");
    words.retain(|word| word != "--quick");
    if let Some(unknown) = words.iter().find(|word| SECTIONS.iter().all(|(name, _)| name != *word)) {
        let names: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
        eprintln!("no section is called {unknown:?}, but: {}", names.join(", "));
        return;
    }
    let bench = Bench { programs: Programs::build(), haste: if quick { 10 } else { 1 } };
    let mut report = Report::new(&bench.programs);
    for (name, section) in SECTIONS {
        if words.is_empty() || words.iter().any(|word| word == name) {
            section(&bench, &mut report);
        }
    }
    // Into another file by request, be it a hasty or a part of a run: so the writing can be tried.
    if std::env::var_os("BENCHMARKS_MD").is_none() && (quick || !words.is_empty()) {
        println!("\nNot written to docs/benchmarks.md: not a whole run.");
    } else {
        report.write();
    }
}
