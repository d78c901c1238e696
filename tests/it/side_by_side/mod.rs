//! Go's plugins and ours, given the same calls on a private host each. What they answer and what they leave on the
//! host after each call must be the same, but for the improvements that `improvements.json` lists.

mod case;
mod cases;
mod compare;
mod improvement;
mod pairs;
mod snapshot;
mod text;
mod world;

use case::Suite;
use improvement::Improvements;
use pairs::Pairs;

#[test]
fn bandwidth() {
    compare(&cases::bandwidth::suite());
}

#[test]
fn bridge() {
    compare(&cases::bridge::suite());
}

#[test]
fn firewall() {
    compare(&cases::firewall::suite());
}

#[test]
fn host_device() {
    compare(&cases::host_device::suite());
}

#[test]
fn host_local() {
    compare(&cases::host_local::suite());
}

#[test]
fn ipvlan() {
    compare(&cases::modules::ipvlan());
}

#[test]
fn macvlan() {
    compare(&cases::macvlan::suite());
}

#[test]
fn portmap() {
    compare(&cases::portmap::suite());
}

#[test]
fn ptp() {
    compare(&cases::ptp::suite());
}

#[test]
fn sbr() {
    compare(&cases::sbr::suite());
}

#[test]
fn static_ipam() {
    compare(&cases::static_ipam::suite());
}

#[test]
fn tuning() {
    compare(&cases::tuning::suite());
}

#[test]
fn vlan() {
    compare(&cases::modules::vlan());
}

#[test]
fn vrf() {
    compare(&cases::modules::vrf());
}

fn suites() -> [Suite; 14] {
    [
        cases::bandwidth::suite(),
        cases::bridge::suite(),
        cases::firewall::suite(),
        cases::host_device::suite(),
        cases::host_local::suite(),
        cases::modules::ipvlan(),
        cases::macvlan::suite(),
        cases::portmap::suite(),
        cases::ptp::suite(),
        cases::sbr::suite(),
        cases::static_ipam::suite(),
        cases::tuning::suite(),
        cases::modules::vlan(),
        cases::modules::vrf(),
    ]
}

fn compare(suite: &Suite) {
    let mut improvements = Improvements::of(suite.plugin);
    let mut pairs = Pairs::new(suite);
    let mut faults = Vec::new();
    for case in &suite.cases {
        let Some(differences) = pairs.differences(case) else { return };
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
