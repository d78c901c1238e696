//! What building a plugin costs: a clean release build, and how many crates that builds.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;

use crate::table::Bench;
use crate::table::builds::workspace;
use crate::table::report::{Report, mark};

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    report.section(
        "A clean release build with the workspace's profile",
        &["plugin", "crates built", "goal", "", "time, of which most is the whole-program optimisation"],
    );
    let mut rows = vec![("`hello`, default features", workspace(), "hello", true)];
    let rscni = workspace().join("benches/peers/rscni");
    if bench.programs.rscni.is_ok() {
        rows.push(("`passthrough`, with what all benchmarks use", workspace(), "cni-benches", false));
        rows.push(("the same on rscni-plugin", &rscni, "passthrough-rscni", false));
    }
    for (name, dir, package, held) in rows {
        let (crates, seconds) = build(dir, package);
        let goal = if held { "≤ 25" } else { "" };
        report.row(&[
            name,
            &crates.to_string(),
            goal,
            mark(held.then_some(crates <= 25)),
            &format!("{seconds:.0} s"),
        ]);
    }
}

/// One line of what cargo tells.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
}

/// The number of crates and the seconds.
fn build(dir: &Path, package: &str) -> (usize, f64) {
    let target = tempfile::tempdir().unwrap();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(dir)
        .args(["build", "--release", "--message-format=json", "--target-dir"])
        .arg(target.path());
    cargo.args(["--package", package]);
    if package == "cni-benches" {
        cargo.args(["--bin", "passthrough"]);
    }
    let start = Instant::now();
    let output = cargo.output().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let artifacts = messages.filter(|message| message.reason == "compiler-artifact");
    let crates: BTreeSet<String> = artifacts.filter_map(|message| message.package_id).collect();
    (crates.len(), seconds)
}
