//! Faults: each file and process operation of a runtime and of host-local fails, or is the last thing that they do; disks are
//! full or read-only, descriptors run out, streams are closed, the machine is started anew or loses its power.
//!
//! What must hold each time: nothing is half written, the exit status tells the truth, other attachments keep what they
//! have, and the next DEL, or apart from it the next GC, leaves nothing. `strace` injects the faults into the programs as they
//! are, one at a time, at each call of the kernel that a clean run makes.

mod call;
mod chosen;
mod inject;
mod install;
mod node;
mod power;
mod reboot;
mod resources;
mod start;
mod streams;
mod sweep;

/// Says how many faults there were, for the tables of `docs/reliability.md`.
#[allow(clippy::print_stdout, reason = "it is what the test is run for by `tests/reliability`")]
fn tell(faults: usize, what: &str) {
    println!("{faults} faults injected into {what}");
}
