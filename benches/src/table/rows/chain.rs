//! A runtime that adds a container to a chain of three noops.

use std::path::Path;

use serde_json::json;

use crate::table::Bench;
use crate::table::measure::{Program, in_turn};
use crate::table::report::{Goal, Report};

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let programs = &bench.programs;
    let Ok(_) = &programs.go else { return };
    report.comparisons("A chain of three noops");
    // Ours waits until the disk has its cache, Go's does not; in memory there is nothing to wait for.
    let disk = tempfile::tempdir().unwrap();
    in_dir(bench, report, disk.path(), "`cnitool add`, its cache on the disk");
    if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
        in_dir(bench, report, memory.path(), "`cnitool add`, its cache in memory (tmpfs)");
    }
}

fn in_dir(bench: &Bench, report: &mut Report, root: &Path, work: &str) {
    let programs = &bench.programs;
    let list = json!({
        "cniVersion": "1.0.0", "name": "chain",
        "plugins": [{"type": "noop"}, {"type": "noop"}, {"type": "noop"}],
    });
    std::fs::write(root.join("chain.conflist"), list.to_string()).unwrap();
    let ours = cnitool(&programs.of_static("cnitool"), &programs.plugin_dir(), root).args([
        "add",
        "chain",
        "/run/netns/none",
    ]);
    let go = Program::new(programs.peer("go/runtime")).env([("PATH", "/usr/bin:/bin")]).args([
        "add",
        &root.to_string_lossy(),
        &programs.peer("go").to_string_lossy(),
        &root.join("go").to_string_lossy(),
        "chain",
    ]);
    let samples = in_turn(&[&ours, &go], bench.rounds(100));
    let peer = "a program on Go's libcni, with Go's noop";
    report.compare(work, peer, &samples[0], &samples[1], Goal::Faster(5.0));
}

/// `cnitool` on the networks of a directory, with its cache in it.
pub(super) fn cnitool(program: &Path, plugins: &Path, root: &Path) -> Program {
    Program::new(program).env([
        ("NETCONFPATH", root.to_string_lossy()),
        ("CNI_PATH", plugins.to_string_lossy()),
        ("CNI_CACHE_DIR", root.join("ours").to_string_lossy()),
        ("PATH", "/usr/bin:/bin".into()),
    ])
}
