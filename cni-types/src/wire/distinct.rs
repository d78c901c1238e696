//! The keys of an object while it is read: each once, in time that grows with their number and no faster.

use std::collections::HashMap;

/// So many keys are searched one by one, which is faster for the few that documents of the protocol have.
const FEW: usize = 32;

/// Keys and values in the order in which the keys came first; of duplicates the last value counts.
///
/// A document of some megabytes has room for a million keys, and searching all of them for each takes the square of that.
pub(crate) struct Distinct<V> {
    entries: Vec<(String, V)>,
    /// Where each key stands, once there are more than a few.
    places: Option<HashMap<String, usize>>,
}

impl<V> Distinct<V> {
    pub(crate) fn new() -> Self {
        Self::of(Vec::new())
    }

    /// Goes on with entries whose keys are distinct.
    pub(crate) fn of(entries: Vec<(String, V)>) -> Self {
        Self { entries, places: None }
    }

    pub(crate) fn set(&mut self, key: String, value: V) {
        match self.place_of(&key).and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => entry.1 = value,
            None => {
                if let Some(places) = &mut self.places {
                    places.insert(key.clone(), self.entries.len());
                }
                self.entries.push((key, value));
            }
        }
    }

    pub(crate) fn into_entries(self) -> Vec<(String, V)> {
        self.entries
    }

    fn place_of(&mut self, key: &str) -> Option<usize> {
        if self.entries.len() <= FEW {
            return self.entries.iter().position(|(known, _)| known == key);
        }
        let all = || self.entries.iter().map(|(key, _)| key.clone()).zip(0..).collect();
        self.places.get_or_insert_with(all).get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Distinct, FEW};

    #[test]
    fn of_duplicates_the_last_value_counts_in_the_first_place_be_they_few_or_many() {
        for many in [1, FEW - 1, FEW, FEW + 1, 3 * FEW] {
            let mut keys = Distinct::new();
            for round in 0..2 {
                for number in 0..many {
                    keys.set(number.to_string(), (round, number));
                }
            }
            keys.set("new".to_owned(), (2, 0));
            let mut expected: Vec<_> = (0..many).map(|number| (number.to_string(), (1, number))).collect();
            expected.push(("new".to_owned(), (2, 0)));
            assert_eq!(keys.into_entries(), expected);
        }
    }
}
