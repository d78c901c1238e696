//! A host with Go's plugins beside one with ours.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use super::case::{Case, Suite};
use super::compare::Difference;
use super::world::World;

/// Pairs of hosts, of which one is kept for the next case if the last has left both as they were at first: most of what a
/// plugin refuses needs no hosts of its own.
pub(super) struct Pairs<'a> {
    suite: &'a Suite,
    kept: Option<(World<'a>, World<'a>)>,
    /// What a host has before the first call, by the places that are looked at.
    at_first: BTreeMap<Vec<&'static str>, Vec<String>>,
}

impl<'a> Pairs<'a> {
    pub(super) fn new(suite: &'a Suite) -> Self {
        Self { suite, kept: None, at_first: BTreeMap::new() }
    }

    /// How the two differ, call by call; `None` where the test is skipped.
    pub(super) fn differences(&mut self, case: &Case) -> Option<Vec<Difference>> {
        let (mut gos, mut ours) = match self.kept.take() {
            Some(pair) => pair,
            None => (World::of_gos(self.suite)?, World::of_ours(self.suite)?),
        };
        let places = self.suite.places(case);
        let at_first = self.at_first.entry(places).or_insert_with_key(|places| ours.look(places));
        // At once: both wait for the kernel most of the time.
        let (of_gos, of_ours) = thread::scope(|scope| {
            let of_gos = scope.spawn(|| gos.run(case));
            let of_ours = ours.run(case);
            (of_gos.join().unwrap_or_else(|panic| resume_unwind(panic)), of_ours)
        });
        assert_eq!(of_gos.len(), of_ours.len());
        // A script may have changed what is not looked at.
        let is_plain = case.calls.iter().all(|call| call.before.is_none());
        if is_plain && [&gos, &ours].iter().all(|world| world.left() == at_first) {
            self.kept = Some((gos, ours));
        }
        Some(of_gos.into_iter().zip(of_ours).filter_map(|(go, our)| Difference::between(go, our)).collect())
    }
}
