//! Go's plugins and ours, given the same calls on a private host each. What they answer and what they leave on the
//! host after each call must be the same, but for the improvements that `improvements.json` lists.

mod case;
mod cases;
mod compare;
mod improvement;
mod snapshot;
mod text;
mod world;

use std::panic::resume_unwind;
use std::thread;

use case::{Case, Suite};
use compare::Difference;
use improvement::Improvements;
use world::World;

#[test]
fn bridge() {
    compare(&cases::bridge::suite());
}

#[test]
fn host_local() {
    compare(&cases::host_local::suite());
}

#[test]
fn portmap() {
    compare(&cases::portmap::suite());
}

#[test]
fn static_ipam() {
    compare(&cases::static_ipam::suite());
}

#[test]
fn tuning() {
    compare(&cases::tuning::suite());
}

fn suites() -> [Suite; 5] {
    [
        cases::bridge::suite(),
        cases::host_local::suite(),
        cases::portmap::suite(),
        cases::static_ipam::suite(),
        cases::tuning::suite(),
    ]
}

fn compare(suite: &Suite) {
    let mut improvements = Improvements::of(suite.plugin);
    let mut faults = Vec::new();
    for case in &suite.cases {
        let Some(differences) = differences(suite, case) else { return };
        for difference in differences {
            let left = improvements.explain(&case.name, difference);
            faults.extend(left.map(|left| format!("{}: {left}", case.name)));
        }
    }
    faults.extend(improvements.unused());
    assert!(
        faults.is_empty(),
        "{} faults in {} cases\n{}",
        faults.len(),
        suite.cases.len(),
        faults.join("\n")
    );
}

/// How the two differ, call by call; `None` where the test is skipped.
fn differences(suite: &Suite, case: &Case) -> Option<Vec<Difference>> {
    let (gos, ours) = (World::of_gos(suite)?, World::of_ours(suite)?);
    // At once: both wait for the kernel most of the time.
    let (gos, ours) = thread::scope(|scope| {
        let gos = scope.spawn(|| gos.run(case));
        let ours = ours.run(case);
        (gos.join().unwrap_or_else(|panic| resume_unwind(panic)), ours)
    });
    assert_eq!(gos.len(), ours.len());
    Some(gos.into_iter().zip(ours).filter_map(|(go, our)| Difference::between(go, our)).collect())
}
