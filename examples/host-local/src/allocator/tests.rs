//! Choices over a made-up occupancy, against the plainest way to say what the round is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use cni_skel::Cidr;
use proptest::prelude::*;

use super::*;
use crate::range::Bounds;

/// Who holds what, and what was given out last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    held: BTreeMap<Addr, String>,
    last: BTreeMap<usize, Addr>,
}

impl Model {
    /// Gives out what was chosen, as the store does.
    fn take(&mut self, leases: &[Lease<'_>], owner: &Owner) {
        for lease in leases {
            let before = self.held.insert(lease.address, owner.text().to_owned());
            assert_eq!(before, None, "{} is given out twice", lease.address);
            self.last.insert(lease.range_set, lease.address);
        }
    }
}

impl Occupancy for Model {
    fn next_free(&mut self, from: Addr, to: Addr) -> plugin_support::Result<Option<Addr>> {
        let mut at = Some(from);
        while let Some(address) = at.filter(|at| *at <= to) {
            if !self.held.contains_key(&address) {
                return Ok(Some(address));
            }
            at = address.next();
        }
        Ok(None)
    }

    fn held_by(&mut self, owner: &Owner) -> plugin_support::Result<Vec<Addr>> {
        let ours = |text: &str| text == owner.text() || text == owner.container_id();
        Ok(self.held.iter().filter(|(_, text)| ours(text)).map(|(address, _)| *address).collect())
    }

    fn holder(&mut self, address: Addr) -> plugin_support::Result<Option<Holder>> {
        Ok(self.held.get(&address).map(|text| Holder::of(text)))
    }

    fn last_reserved(&mut self, range_set: usize) -> Option<Addr> {
        self.last.get(&range_set).copied()
    }
}

fn addr(text: &str) -> Addr {
    Addr::from(text.parse::<IpAddr>().unwrap())
}

fn owner(id: &str) -> Owner {
    Owner::new(&id.parse().unwrap(), &"eth0".parse().unwrap())
}

/// `subnet start end gateway`, the last three optional as `-`.
fn set(ranges: &[&str]) -> RangeSet {
    RangeSet::new(ranges.iter().map(|text| {
        let mut words = text.split(' ');
        let subnet = words.next().unwrap().parse().unwrap();
        let mut address = || words.next().filter(|word| *word != "-").map(|word| word.parse().unwrap());
        Bounds { subnet, start: address(), end: address(), gateway: address() }
    }))
    .unwrap()
}

/// Every address that ADDs in turn get, until one fails.
fn all_of(sets: &[RangeSet], model: &mut Model) -> Vec<String> {
    let mut given = Vec::new();
    loop {
        let owner = owner(&format!("c{}", model.held.len()));
        match plan(model, sets, &[], &owner) {
            Ok(leases) => {
                model.take(&leases, &owner);
                given.extend(leases.iter().map(|lease| lease.address.to_string()));
            }
            Err(error) => {
                assert!(matches!(error, AllocateError::Exhausted { .. }), "{error}");
                return given;
            }
        }
    }
}

#[test]
fn a_set_is_used_range_by_range_to_the_end_of_the_address_space() {
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    for (ranges, expected) in [
        (vec!["10.2.0.0/30"], vec!["10.2.0.2"]),
        (
            vec!["10.8.0.0/29 10.8.0.5 10.8.0.7", "10.9.0.0/30 - - 10.9.0.2"],
            vec!["10.8.0.5", "10.8.0.6", "10.8.0.7", "10.9.0.1"],
        ),
        (vec!["255.255.255.252/30 - 255.255.255.255"], vec!["255.255.255.254", "255.255.255.255"]),
        (vec!["0.0.0.0/30 0.0.0.0 - 0.0.0.1"], vec!["0.0.0.0", "0.0.0.2"]),
        (
            vec!["ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126"],
            vec!["ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", last],
        ),
        // Nothing but the gateway.
        (vec!["10.8.0.0/24 10.8.0.1 10.8.0.1"], vec![]),
        // A gateway that lies in the range of another one.
        (vec!["10.8.0.0/30 - - 10.8.1.2", "10.8.1.0/30"], vec!["10.8.0.1", "10.8.0.2"]),
    ] {
        let sets = [set(&ranges)];
        assert_eq!(all_of(&sets, &mut Model::default()), expected, "{ranges:?}");
        // Also from any place in the round.
        for start in &expected {
            let mut model = Model { last: [(0, addr(start))].into(), ..Model::default() };
            let mut turned = all_of(&sets, &mut model);
            assert_eq!(turned.last(), Some(&(*start).to_owned()), "{ranges:?} after {start}");
            turned.sort();
            let mut expected = expected.clone();
            expected.sort_unstable();
            assert_eq!(turned, expected, "{ranges:?} after {start}");
        }
    }
}

#[test]
fn c62_the_last_address_is_given_out_again_after_its_release() {
    let sets = [set(&["10.2.0.0/30"])];
    let mut model = Model::default();
    for _ in 0..3 {
        assert_eq!(all_of(&sets, &mut model), ["10.2.0.2"]);
        model.held.clear();
    }
    let sets = [set(&["10.1.0.0/16 10.1.2.250 10.1.3.3"])];
    let given = all_of(&sets, &mut Model::default());
    assert_eq!(given.len(), 10);
    assert!(given.contains(&"10.1.2.255".to_owned()) && given.contains(&"10.1.3.0".to_owned()));
    let sets = [set(&["2001:db8::/120"])];
    assert_eq!(all_of(&sets, &mut Model::default()).last().unwrap(), "2001:db8::ff");
}

#[test]
fn the_round_goes_on_after_the_last_address_and_begins_anew_after_a_change_of_ranges() {
    let sets = [set(&["10.8.0.0/29", "10.9.0.0/29"])];
    let next = |last: &str| {
        let mut model = Model { last: [(0, addr(last))].into(), ..Model::default() };
        plan(&mut model, &sets, &[], &owner("c1")).unwrap()[0].address.to_string()
    };
    assert_eq!(next("10.8.0.3"), "10.8.0.4");
    assert_eq!(next("10.8.0.6"), "10.9.0.2", "the next range, less its gateway");
    assert_eq!(next("10.9.0.6"), "10.8.0.2", "around");
    assert_eq!(next("192.0.2.1"), "10.8.0.2");
    assert_eq!(next("fd00::1"), "10.8.0.2");
}

#[test]
fn c63_a_set_gives_one_address_and_its_ranges_take_turns() {
    let sets = [set(&["10.8.0.0/29"]), set(&["10.9.0.0/29", "10.9.1.0/29"])];
    let leases = plan(&mut Model::default(), &sets, &[], &owner("c1")).unwrap();
    let addresses: Vec<_> = leases.iter().map(|lease| lease.address.to_string()).collect();
    assert_eq!(addresses, ["10.8.0.2", "10.9.0.2"]);
}

#[test]
fn c63_why_a_requested_address_cannot_be_had_is_told() {
    let sets =
        [set(&["10.8.0.0/24 10.8.0.10 10.8.0.20", "10.8.0.0/24 10.8.0.30 10.8.0.40"]), set(&["fd00::/64"])];
    let mut model = Model::default();
    model.held.insert(addr("10.8.0.15"), "c1\r\neth0".to_owned());
    model.held.insert(addr("10.8.0.16"), "old-one".to_owned());
    model.held.insert(addr("10.8.0.17"), "kept for the router".to_owned());
    let before = model.clone();
    let mut refuse = |requested: &[&str]| {
        let requested: Vec<Addr> = requested.iter().map(|text| addr(text)).collect();
        plan(&mut model, &sets, &requested, &owner("c9")).unwrap_err().to_string()
    };
    let not_available = |address: &str| {
        format!(
            "failed to allocate for range 0: requested IP address {address} is not available in range set \
             10.8.0.10-10.8.0.20,10.8.0.30-10.8.0.40: "
        )
    };
    assert_eq!(refuse(&["10.8.0.15"]), not_available("10.8.0.15") + "held by c1 with interface eth0");
    assert_eq!(refuse(&["10.8.0.16"]), not_available("10.8.0.16") + "held by old-one");
    assert_eq!(refuse(&["10.8.0.17"]), not_available("10.8.0.17") + "held by a file that is no reservation");
    assert_eq!(
        refuse(&["fd00::1"]),
        "failed to allocate for range 1: requested ip fd00::1 is subnet's gateway"
    );
    assert_eq!(
        refuse(&["10.8.0.1"]),
        "failed to allocate all requested IPs: 10.8.0.1: 10.8.0.1 is the gateway of 10.8.0.0/24"
    );
    assert_eq!(
        refuse(&["10.8.0.25"]),
        "failed to allocate all requested IPs: 10.8.0.25: 10.8.0.25 is in 10.8.0.0/24 but not in its range \
         10.8.0.10-10.8.0.20"
    );
    assert_eq!(
        refuse(&["10.8.0.30", "192.0.2.1", "10.8.0.31"]),
        "failed to allocate all requested IPs: 192.0.2.1 10.8.0.31: 192.0.2.1 is not in any range: \
         [10.8.0.10-10.8.0.20,10.8.0.30-10.8.0.40] [fd00::1-fd00::ffff:ffff:ffff:ffff], 10.8.0.31 is one too many for \
         range set 0, which gives 10.8.0.30"
    );
    assert_eq!(model, before, "nothing is taken by any of them");
}

#[test]
fn requested_addresses_are_given_by_the_sets_that_have_them() {
    let sets = [set(&["10.8.0.0/24"]), set(&["fd00::/64"])];
    let requested = [addr("fd00::42"), addr("10.8.0.42")];
    let leases = plan(&mut Model::default(), &sets, &requested, &owner("c1")).unwrap();
    let addresses: Vec<_> = leases.iter().map(|lease| lease.address.to_string()).collect();
    assert_eq!(addresses, ["10.8.0.42", "fd00::42"]);
    // One is requested, the other is whose turn it is.
    let leases = plan(&mut Model::default(), &sets, &requested[..1], &owner("c1")).unwrap();
    assert_eq!(leases[0].address, addr("10.8.0.2"));
}

#[test]
fn c59_an_attachment_has_one_address_of_a_set_also_if_another_is_requested() {
    let sets = [set(&["10.8.0.0/24"])];
    let mut model = Model::default();
    model.held.insert(addr("10.8.0.7"), "c1\r\neth0".to_owned());
    model.held.insert(addr("10.8.0.8"), "c2".to_owned());
    model.held.insert(addr("10.9.0.7"), "c3\r\neth0".to_owned());
    for requested in [vec![], vec![addr("10.8.0.9")], vec![addr("10.8.0.7")]] {
        assert_eq!(
            plan(&mut model, &sets, &requested, &owner("c1")).unwrap_err().to_string(),
            "failed to allocate for range 0: 10.8.0.7 has been allocated to c1, duplicate allocation is not allowed"
        );
    }
    let old = plan(&mut model, &sets, &[], &owner("c2")).unwrap_err();
    assert!(old.to_string().contains("10.8.0.8 has been allocated to c2"), "{old}");
    // Held in a range that the network no longer has.
    assert!(plan(&mut model, &sets, &[], &owner("c3")).is_ok());
}

/// The round said plainly: every address in order, turned so that the one after the last comes first.
fn expected_next(sets: &[RangeSet], at: usize, model: &Model) -> Option<Addr> {
    let mut all = Vec::new();
    for range in sets[at].ranges() {
        let mut address = Some(range.start());
        while let Some(found) = address.filter(|address| *address <= range.end()) {
            all.push(found);
            address = found.next();
        }
    }
    let turn = model.last.get(&at).and_then(|last| all.iter().position(|found| found == last));
    let length = all.len();
    all.rotate_left(turn.map_or(0, |turn| (turn + 1) % length));
    let gateways: Vec<Addr> = sets.iter().flat_map(RangeSet::ranges).map(Range::gateway).collect();
    all.into_iter().find(|address| !gateways.contains(address) && !model.held.contains_key(address))
}

/// Small sets in a small space, at its end, in its middle and in both families, with gateways anywhere.
fn arbitrary_sets() -> impl Strategy<Value = Vec<RangeSet>> {
    let range = (0u32..6, 0u32..8, 0u32..8, 0u32..12);
    proptest::collection::vec(proptest::collection::vec(range, 1..3), 1..4).prop_filter_map(
        "overlap",
        |sets| {
            let mut checked: Vec<RangeSet> = Vec::new();
            for set in sets {
                let bounds = set.into_iter().map(|(net, a, b, gateway)| {
                    // The last six /29 or /125.
                    let v6 = net >= 3;
                    let base = (u128::from(u32::MAX) - 8 * u128::from(net % 3 + 1)) + 1;
                    let address = |offset: u32| -> IpAddr {
                        let number = base + u128::from(offset.min(7));
                        if v6 {
                            std::net::Ipv6Addr::from_bits(number | !u128::from(u32::MAX)).into()
                        } else {
                            std::net::Ipv4Addr::from_bits(number as u32).into()
                        }
                    };
                    Bounds {
                        subnet: Cidr::new(address(0), if v6 { 125 } else { 29 }).unwrap(),
                        start: Some(address(a.min(b))),
                        end: Some(address(a.max(b))),
                        gateway: (gateway < 8).then(|| address(gateway)),
                    }
                });
                let set = RangeSet::new(bounds.collect::<Vec<_>>()).ok()?;
                checked.iter().all(|other| !other.overlaps(&set)).then_some(())?;
                checked.push(set);
            }
            Some(checked)
        },
    )
}

proptest! {
    #[test]
    fn never_twice_never_outside_never_a_gateway_and_always_whose_turn_it_is(
        sets in arbitrary_sets(),
        steps in proptest::collection::vec((0u8..30, any::<bool>()), 1..80),
    ) {
        let mut model = Model::default();
        for (container, add) in steps {
            let owner = owner(&format!("c{container}"));
            if !add {
                model.held.retain(|_, text| text != owner.text());
                continue;
            }
            let expected: Vec<_> = (0..sets.len()).map(|at| expected_next(&sets, at, &model)).collect();
            let before = model.clone();
            match plan(&mut model, &sets, &[], &owner) {
                Ok(leases) => {
                    let given: Vec<_> = leases.iter().map(|lease| Some(lease.address)).collect();
                    prop_assert_eq!(given, expected);
                    for lease in &leases {
                        prop_assert!(lease.range.contains(lease.address) && sets[lease.range_set].ranges().contains(lease.range));
                        prop_assert!(!is_gateway(&sets, lease.address));
                    }
                    // Fails the test if one is held already.
                    model.take(&leases, &owner);
                }
                Err(AllocateError::Duplicate { .. }) => prop_assert!(!model.held_by(&owner).unwrap().is_empty()),
                Err(AllocateError::Exhausted { range_set, .. }) => {
                    prop_assert_eq!(expected[range_set], None);
                    prop_assert_eq!(&model, &before);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    #[test]
    fn a_requested_address_is_given_or_refused_and_nothing_else(
        sets in arbitrary_sets(),
        requested in proptest::collection::vec((any::<bool>(), 0u32..24), 0..4),
        held in proptest::collection::vec((any::<bool>(), 0u32..24), 0..12),
    ) {
        let address = |(v6, back): (bool, u32)| {
            let (family, last) = if v6 { (crate::addr::Family::V6, u128::MAX) } else { (crate::addr::Family::V4, u32::MAX.into()) };
            Addr::new(family, last - u128::from(back)).unwrap()
        };
        let mut model = Model::default();
        model.held.extend(held.into_iter().map(|at| (address(at), "other\r\neth0".to_owned())));
        let mut requested: Vec<Addr> = requested.into_iter().map(address).collect();
        requested.sort();
        requested.dedup();
        if let Ok(leases) = plan(&mut model, &sets, &requested, &owner("c1")) {
            prop_assert_eq!(leases.len(), sets.len());
            for wanted in &requested {
                prop_assert!(leases.iter().any(|lease| lease.address == *wanted), "{} was forgotten", wanted);
            }
            for lease in &leases {
                prop_assert!(!is_gateway(&sets, lease.address) && lease.range.contains(lease.address));
            }
            model.take(&leases, &owner("c1"));
        }
    }
}
