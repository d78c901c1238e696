//! Every fault at every call of the kernel, in the runtime and in host-local, and the next DEL or GC after each.

use std::fmt::Display;

use super::call::{Call, Outcome};
use super::inject::{Fault, Injector, Kind};
use super::node::{Node, told};

/// One program's command, and what cleans up after it.
struct Sweep<'a> {
    node: &'a Node,
    is_plugin: bool,
    command: &'a str,
    /// DEL, or apart from it GC.
    cleaner: &'a str,
}

impl Sweep<'_> {
    fn call(&self, command: &str) -> Call {
        match command {
            _ if self.is_plugin => self.node.plugin(command),
            "ADD" => self.node.add(),
            "CHECK" => self.node.check(),
            "DEL" => self.node.del(),
            _ => self.node.gc(),
        }
    }

    /// Injects one fault after the other. How many there were.
    fn run(&self, injector: &Injector) -> usize {
        self.prepare();
        let faults = injector.faults(&self.call(self.command));
        self.call(self.cleaner).good();
        let (mut hits, mut wrong) = (0, Vec::new());
        for fault in &faults {
            self.prepare();
            let outcome = injector.run(&self.call(self.command), *fault);
            hits += usize::from(outcome.is_some());
            wrong.extend(self.judge(*fault, outcome).map_err(|why| format!("{fault}: {why}")).err());
            let cleaned = self.call(self.cleaner).run();
            let clean =
                if cleaned.status.success() { self.node.clean() } else { Err(format!("{cleaned:?}")) };
            // What is left of half-written files, the next GC takes at the latest.
            let clean = clean.and_then(|()| if self.cleaner == "GC" { self.node.swept() } else { Ok(()) });
            wrong.extend(clean.map_err(|why| format!("{fault}, then {}: {why}", self.cleaner)).err());
        }
        self.call("GC").good();
        wrong.extend(self.node.swept().err());
        assert!(wrong.is_empty(), "{self} had {hits} faults:\n{}", wrong.join("\n"));
        assert!(hits * 10 >= faults.len() * 9, "{self}: {hits} of {} faults were met with", faults.len());
        hits
    }

    fn prepare(&self) {
        if self.command != "ADD" {
            self.call("ADD").good();
        }
    }

    /// What must hold right after a call that met with a fault; it may have coped.
    fn judge(&self, fault: Fault, outcome: Option<Outcome>) -> Result<(), String> {
        self.node.whole()?;
        let Some(outcome) = outcome else { return Ok(()) };
        if fault.kind == Kind::Kill {
            return Ok(());
        }
        told(&outcome, self.is_plugin)?;
        let succeeded = outcome.status.success();
        if matches!(fault.kind, Kind::Overcome(_)) && !succeeded {
            return Err(format!("it gave up: {outcome:?}"));
        }
        match (self.command, self.node.addresses()?) {
            ("ADD", 2) | ("DEL" | "GC", 0) | ("CHECK", 2) => Ok(()),
            // All or nothing.
            ("ADD", 0) | ("DEL" | "GC", 1 | 2) if !succeeded => Ok(()),
            (_, count) => Err(format!("{count} addresses are reserved after {outcome:?}")),
        }
    }
}

impl Display for Sweep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let program = if self.is_plugin { "host-local" } else { "the runtime" };
        write!(f, "{} of {program}, cleaned up by {}", self.command, self.cleaner)
    }
}

fn sweep(is_plugin: bool, command: &str, at_least: usize) {
    // A plugin of 1.1.0 has a GC of its own; before, all depends on what the runtime knows.
    let version = if is_plugin { "1.1.0" } else { "1.0.0" };
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let node = Node::start(dir.path(), version);
    let mut faults = 0;
    for cleaner in ["DEL", "GC"] {
        let sweep = Sweep { node: &node, is_plugin, command, cleaner };
        faults += sweep.run(&injector);
    }
    let program = if is_plugin { "host-local" } else { "the runtime" };
    super::tell(faults, &format!("{command} of {program}"));
    assert!(faults >= at_least, "{command}: {faults} faults");
}

#[test]
fn of_the_runtime_in_add() {
    sweep(false, "ADD", 100);
}

#[test]
fn of_the_runtime_in_check() {
    sweep(false, "CHECK", 50);
}

#[test]
fn of_the_runtime_in_del() {
    sweep(false, "DEL", 100);
}

#[test]
fn of_the_runtime_in_gc() {
    sweep(false, "GC", 100);
}

#[test]
fn of_host_local_in_add() {
    sweep(true, "ADD", 100);
}

#[test]
fn of_host_local_in_del() {
    sweep(true, "DEL", 50);
}

#[test]
fn of_host_local_in_gc() {
    sweep(true, "GC", 50);
}
