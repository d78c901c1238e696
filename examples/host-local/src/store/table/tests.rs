//! The table against a plain model, in memory and through a file, and damaged files.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::addr::Family;

fn addr(text: &str) -> Addr {
    Addr::from(text.parse::<IpAddr>().unwrap())
}

impl Table {
    fn is_taken(&mut self, address: Addr) -> io::Result<bool> {
        Ok(self.next_free(address, address)?.is_none())
    }
}

/// Writes the table to a file and takes it up again, as the next call does.
fn reopened(mut table: Table) -> Table {
    let file = tempfile::tempfile().unwrap();
    let file = match table.file.take() {
        Some(file) => {
            table.file = Some(file.try_clone().unwrap());
            file
        }
        None => file,
    };
    table.write_changes(&file).unwrap();
    Table::of_file(file, table.size()).unwrap()
}

#[test]
fn what_is_held_is_found_and_what_is_given_back_is_not() {
    let mut table = Table::with_room_for(0);
    table.insert(addr("10.0.0.2"), Some(7)).unwrap();
    table.insert(addr("fd00::2"), Some(7)).unwrap();
    table.insert(addr("10.0.0.3"), None).unwrap();
    let mut table = reopened(table);
    assert_eq!(table.addresses_of(7).unwrap(), [addr("10.0.0.2"), addr("fd00::2")]);
    assert!(table.is_taken(addr("10.0.0.3")).unwrap() && !table.is_taken(addr("10.0.0.4")).unwrap());
    // The same number in the other family.
    assert!(!table.is_taken(Addr::new(Family::V6, addr("10.0.0.3").number()).unwrap()).unwrap());
    assert_eq!(table.size().taken, 3);
    table.remove(addr("10.0.0.2"), Some(7)).unwrap();
    table.remove(addr("10.0.0.2"), Some(7)).unwrap();
    assert_eq!(table.addresses_of(7).unwrap(), [addr("fd00::2")]);
    assert_eq!(table.size().taken, 2);
}

#[test]
fn the_next_free_address_is_found_across_blocks_and_at_the_ends() {
    let mut table = Table::with_room_for(1000);
    let held =
        (addr("10.0.0.0").number()..=addr("10.0.3.0").number()).map(|n| Addr::new(Family::V4, n).unwrap());
    for address in held.chain([addr("255.255.255.255"), addr("0.0.0.0")]) {
        table.insert(address, None).unwrap();
    }
    let mut next = |from: &str, to: &str| table.next_free(addr(from), addr(to)).unwrap();
    assert_eq!(next("10.0.0.0", "10.0.255.255"), Some(addr("10.0.3.1")));
    assert_eq!(next("10.0.0.0", "10.0.3.0"), None);
    assert_eq!(next("10.0.0.0", "10.0.3.1"), Some(addr("10.0.3.1")));
    assert_eq!(next("10.0.4.0", "10.0.3.1"), None);
    assert_eq!(next("255.255.255.255", "255.255.255.255"), None);
    assert_eq!(next("255.255.255.254", "255.255.255.255"), Some(addr("255.255.255.254")));
    assert_eq!(next("0.0.0.0", "255.255.255.255"), Some(addr("0.0.0.1")));
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    assert_eq!(next("fd00::", last), Some(addr("fd00::")));
    table.insert(addr(last), None).unwrap();
    assert_eq!(table.next_free(addr(last), addr(last)).unwrap(), None);
}

#[test]
fn a_table_grows_with_what_is_in_it() {
    let mut table = Table::with_room_for(0);
    let address = |n: u32| Addr::new(Family::V6, u128::from(n) << 70).unwrap();
    for n in 0..3000 {
        table.insert(address(n), Some(u64::from(n / 2))).unwrap();
        if n % 1000 == 999 {
            table = reopened(table);
        }
    }
    assert!(
        table.size().capacity >= 8192 && table.size().used * 4 <= table.size().capacity * 3,
        "{:?}",
        table.size()
    );
    for n in 0..1500 {
        assert_eq!(table.addresses_of(u64::from(n)).unwrap(), [address(2 * n), address(2 * n + 1)]);
    }
    for n in 0..3000 {
        table.remove(address(n), Some(u64::from(n / 2))).unwrap();
    }
    assert_eq!((table.size().used, table.size().taken), (0, 0));
}

#[test]
fn what_is_damaged_is_an_error_and_not_an_answer() {
    let mut table = Table::with_room_for(0);
    table.insert(addr("10.0.0.2"), Some(7)).unwrap();
    let file = tempfile::tempfile().unwrap();
    table.write_changes(&file).unwrap();
    let size = table.size();
    let look = || {
        let mut table = Table::of_file(file.try_clone().unwrap(), size).unwrap();
        Ok::<_, io::Error>((table.addresses_of(7)?, table.is_taken(addr("10.0.0.2"))?))
    };
    assert_eq!(look().unwrap(), (vec![addr("10.0.0.2")], true));
    // Any flipped bit of either slot.
    let mut image = vec![0; PAGE + size.capacity as usize * SLOT];
    file.read_exact_at(&mut image, 0).unwrap();
    let mut damaged = 0;
    for at in (0..image.len()).filter(|at| image[*at] != 0).collect::<Vec<_>>() {
        for bit in 0..8 {
            file.write_all_at(&[image[at] ^ (1 << bit)], at as u64).unwrap();
            assert_eq!(look().unwrap_err().kind(), io::ErrorKind::InvalidData);
            damaged += 1;
        }
        file.write_all_at(&[image[at]], at as u64).unwrap();
    }
    assert!(damaged > 100, "{damaged}");
    // A file that ends too early.
    file.set_len(PAGE as u64).unwrap();
    assert_eq!(look().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    // Sizes that no table has.
    for (capacity, used, taken) in [(0, 0, 0), (1000, 0, 0), (1024, 1024, 0), (1024, 1, 65), (1 << 40, 0, 0)]
    {
        let file = tempfile::tempfile().unwrap();
        assert!(Table::of_file(file, Size { capacity, used, taken }).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_table_says_what_was_put_into_it(
        steps in proptest::collection::vec((any::<bool>(), 0u64..40, 0u128..300, any::<bool>()), 1..300),
    ) {
        let mut table = Table::with_room_for(0);
        let mut model: BTreeMap<Addr, u64> = BTreeMap::new();
        for (v4, key, number, held) in steps {
            // Some close together, some far apart.
            let number = if number % 3 == 0 { number << 20 } else { number };
            let family = if v4 { Family::V4 } else { Family::V6 };
            let address = Addr::new(family, number).unwrap();
            // The store never gives a held address to another owner.
            match model.get(&address).copied() {
                Some(key) if !held => {
                    table.remove(address, Some(key)).unwrap();
                    model.remove(&address);
                }
                Some(key) => table.insert(address, Some(key)).unwrap(),
                None => {
                    table.insert(address, Some(key)).unwrap();
                    model.insert(address, key);
                }
            }
            if number % 7 == 0 {
                table = reopened(table);
            }
        }
        for key in 0..40 {
            let expected: Vec<Addr> = model.iter().filter(|(_, owner)| **owner == key).map(|(at, _)| *at).collect();
            prop_assert_eq!(table.addresses_of(key).unwrap(), expected);
        }
        let taken: BTreeSet<Addr> = model.keys().copied().collect();
        for family in [Family::V4, Family::V6] {
            for number in 0..320 {
                let address = Addr::new(family, number).unwrap();
                prop_assert_eq!(table.is_taken(address).unwrap(), taken.contains(&address));
                let to = Addr::new(family, number + 40).unwrap();
                let expected = (number..=number + 40)
                    .map(|n| Addr::new(family, n).unwrap())
                    .find(|found| !taken.contains(found));
                prop_assert_eq!(table.next_free(address, to).unwrap(), expected);
            }
        }
        prop_assert_eq!(table.size().taken, taken.len() as u64);
    }
}
