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
