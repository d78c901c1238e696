//! What holds after any calls in any order, whatever else was done to the directory.

use std::collections::BTreeMap;
use std::net::IpAddr;

use host_local::HostLocal;
use proptest::prelude::*;

use crate::network::Network;

#[derive(Clone, Debug)]
enum Step {
    /// ADD of a container, with a requested address or not.
    Add(u8, Option<&'static str>),
    Del(u8),
    /// GC with the containers of these bits.
    Gc(u8),
    /// Somebody removes a file without a word.
    Remove(u8),
    /// Somebody loses the index.
    Forget,
}

/// Free ones, a gateway, one of no range, one of the second set.
const REQUESTS: [&str; 5] = ["10.2.0.4", "10.2.0.1", "192.0.2.9", "fd00::3", "10.2.0.6"];
const RANGES: [&str; 2] = ["10.2.0.0/29", "fd00::/125"];

fn step() -> impl Strategy<Value = Step> {
    let request = prop_oneof![
        3 => Just(None),
        1 => proptest::sample::select(&REQUESTS[..]).prop_map(Some),
    ];
    prop_oneof![
        6 => (0u8..7, request).prop_map(|(id, request)| Step::Add(id, request)),
        3 => (0u8..7).prop_map(Step::Del),
        1 => any::<u8>().prop_map(Step::Gc),
        1 => (0u8..8).prop_map(Step::Remove),
        1 => Just(Step::Forget),
    ]
}

/// Who holds which addresses by the files.
fn holders(net: &Network) -> BTreeMap<String, String> {
    net.files().into_iter().filter(|(name, _)| name.parse::<IpAddr>().is_ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn addresses_are_given_once_and_taken_back_from_their_owner_alone(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let net = Network::of(&RANGES);
        for step in steps {
            let before = holders(&net);
            match step {
                Step::Add(id, request) => {
                    let files = net.files();
                    let id = format!("c{id}");
                    let call = net.adding(&id, "eth0");
                    let call = if let Some(ip) = request { call.args(&format!("IP={ip}")) } else { call };
                    let outcome = call.run(&HostLocal);
                    if let Some(error) = outcome.error() {
                        // Neither a reservation nor a turn has changed, so a DEL takes away what it would have before.
                        prop_assert_eq!(net.files(), files, "after {}", error);
                        continue;
                    }
                    let given: Vec<IpAddr> = outcome.result().ips.iter().map(|ip| ip.address.address()).collect();
                    prop_assert_eq!(given.len(), RANGES.len());
                    let mut expected = before.clone();
                    for (address, range) in given.iter().zip(RANGES) {
                        let range: cni_skel::Cidr = range.parse().unwrap();
                        prop_assert!(range.contains(*address), "{} is outside of {}", address, range);
                        prop_assert!(!["10.2.0.0", "10.2.0.1", "10.2.0.7", "fd00::", "fd00::1"].contains(&address.to_string().as_str()));
                        let holder = expected.insert(address.to_string(), format!("{id}\r\neth0"));
                        prop_assert_eq!(holder, None, "{} is given twice", address);
                    }
                    prop_assert_eq!(holders(&net), expected);
                    if let Some(ip) = request {
                        prop_assert!(given.contains(&ip.parse().unwrap()));
                    }
                }
                Step::Del(id) => {
                    net.del(&format!("c{id}")).assert_success();
                    let mut expected = before;
                    expected.retain(|_, holder| *holder != format!("c{id}\r\neth0"));
                    prop_assert_eq!(holders(&net), expected);
                }
                Step::Gc(valid) => {
                    let ids: Vec<String> = (0..8).filter(|id| valid & (1 << id) != 0).map(|id| format!("c{id}")).collect();
                    let attachments: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "eth0")).collect();
                    net.gc(&attachments).assert_success();
                    let mut expected = before;
                    expected.retain(|_, holder| ids.iter().any(|id| *holder == format!("{id}\r\neth0")));
                    prop_assert_eq!(holders(&net), expected);
                }
                Step::Remove(host) => drop(std::fs::remove_file(net.path(&format!("10.2.0.{host}")))),
                Step::Forget => drop(std::fs::remove_file(net.data_dir().join(".n1.idx"))),
            }
        }
    }
}

/// What stands in the way of an ADD, so that it may fail before, between or after its writes.
#[derive(Clone, Debug)]
enum Obstacle {
    /// A folder where a file with the address given out last is to be.
    LastReserved(u8),
    /// A folder, or a file that is no reservation, by the name of an address.
    Address(u8, bool),
    /// A reservation of the same container by a plugin that wrote no interface.
    Older(u8),
    /// No range is left.
    Full,
}

fn obstacle() -> impl Strategy<Value = Obstacle> {
    prop_oneof![
        3 => (0u8..2).prop_map(Obstacle::LastReserved),
        2 => (2u8..7, any::<bool>()).prop_map(|(host, folder)| Obstacle::Address(host, folder)),
        1 => (2u8..7).prop_map(Obstacle::Older),
        1 => Just(Obstacle::Full),
    ]
}

impl Obstacle {
    fn put(&self, net: &Network) {
        let file = |name: &str, content: &str| {
            // A file that is changed in place is what the index cannot see.
            if !net.path(name).exists() {
                net.write(name, content);
            }
        };
        let folder = |name: &str| {
            // Not empty, so that nothing can take its place.
            net.write("lock", "");
            drop(std::fs::remove_file(net.path(name)));
            std::fs::create_dir_all(net.path(name).join("x")).unwrap();
        };
        match self {
            Self::LastReserved(set) => folder(&format!("last_reserved_ip.{set}")),
            Self::Address(host, true) => folder(&format!("10.2.0.{host}")),
            Self::Address(host, false) => file(&format!("10.2.0.{host}"), "for the router\n"),
            Self::Older(host) => file(&format!("10.2.0.{host}"), "c0"),
            Self::Full => (2..7).for_each(|host| file(&format!("10.2.0.{host}"), "other\r\neth0")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn del_after_any_failed_add_restores_the_store(
        others in proptest::collection::vec(1u8..4, 0..3),
        obstacles in proptest::collection::vec(obstacle(), 1..3),
        request in proptest::option::of(proptest::sample::select(&REQUESTS[..])),
    ) {
        let net = Network::of(&RANGES);
        others.iter().for_each(|id| drop(net.add(&format!("c{id}"))));
        obstacles.iter().for_each(|obstacle| obstacle.put(&net));
        let before = net.files();
        let call = net.adding("c0", "eth0");
        let outcome = if let Some(ip) = request { call.args(&format!("IP={ip}")) } else { call }.run(&HostLocal);
        net.del("c0").assert_success();
        if outcome.error().is_some() {
            let mut expected = before;
            // What an older plugin reserved for the container is its own, too.
            expected.retain(|(name, content)| name.parse::<IpAddr>().is_err() || content != "c0");
            prop_assert_eq!(net.files(), expected, "{:?}", outcome.error());
        }
    }

    #[test]
    fn gc_never_frees_a_valid_attachment(
        files in proptest::collection::btree_map(
            2u8..30,
            prop_oneof![
                4 => (0u8..5, 0u8..2).prop_map(|(id, ifname)| format!("c{id}\r\neth{ifname}")),
                1 => (0u8..5).prop_map(|id| format!("c{id}")),
                1 => (0u8..5).prop_map(|id| format!(" c{id}\r\neth0\n")),
                1 => "[ -~\r\n]{0,12}",
            ],
            0..16,
        ),
        valid in proptest::collection::vec((0u8..6, 0u8..2), 0..6),
        index in any::<bool>(),
    ) {
        let net = Network::of(&["10.2.0.0/24"]);
        files.iter().for_each(|(host, content)| net.write(&format!("10.2.0.{host}"), content));
        if index {
            // An index that says what the files say.
            drop(net.add("other"));
        }
        let valid: Vec<(String, String)> =
            valid.iter().map(|(id, ifname)| (format!("c{id}"), format!("eth{ifname}"))).collect();
        let attachments: Vec<_> = valid.iter().map(|(id, ifname)| (id.as_str(), ifname.as_str())).collect();
        net.gc(&attachments).assert_success();
        let left = holders(&net);
        for (host, content) in files {
            let held = content.trim();
            let is_valid = valid.iter().any(|(id, ifname)| held == id || held == format!("{id}\r\n{ifname}"));
            let is_left = left.contains_key(&format!("10.2.0.{host}"));
            let (id, ifname) = held.split_once("\r\n").unwrap_or((held, "eth0"));
            let could_be_one = id.parse::<cni_skel::types::ContainerId>().is_ok()
                && ifname.parse::<cni_skel::types::InterfaceName>().is_ok();
            // What says nothing is no reservation; what says something else is none of GC's business.
            prop_assert_eq!(is_left, is_valid || !(could_be_one || held.is_empty()), "{:?}", content);
        }
    }
}
