//! host-local's files: whatever they hold, an address is given once, from its range, never a gateway; DEL and GC take
//! what is theirs and nothing else.
//!
//! The input is lines. `+file content` puts a file into the network's directory, `!offset byte` damages the index, and the
//! others are calls: `a3` ADD of container 3, `d3` DEL, `g1,3` GC with these containers valid.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::LazyLock;

use cni_types::{ContainerId, InterfaceName, NetworkName};
use host_local::addr::Addr;
use host_local::allocator::allocate;
use host_local::range::{Bounds, RangeSet};
use host_local::reservation::{Holder, Owner, ValidOwners};
use host_local::store::Store;

use crate::scratch;

const NETWORK: &str = "net1";

static SETS: LazyLock<[RangeSet; 2]> = LazyLock::new(|| {
    let set = |subnet: &str| {
        let subnet = subnet.parse().expect("a good subnet");
        RangeSet::new([Bounds { subnet, start: None, end: None, gateway: None }]).expect("a good range")
    };
    // Both at the end of their family, where counting could go over.
    [set("255.255.255.240/28"), set("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0/124")]
});

/// Does what the lines say and looks at the files after each.
pub fn check(bytes: &[u8]) {
    let data_dir = scratch::empty_dir("store");
    let dir = data_dir.join(NETWORK);
    fs::create_dir(&dir).expect("a directory can be made");
    for line in bytes.split(|byte| *byte == b'\n').take(24) {
        let Some((kind, rest)) = line.split_first() else { continue };
        match kind {
            b'+' => put(&dir, rest),
            b'!' => damage(&data_dir, rest),
            b'a' => add(&data_dir, rest),
            b'd' => del(&data_dir, rest),
            b'g' => gc(&data_dir, rest),
            _ => {}
        }
    }
}

fn put(dir: &Path, rest: &[u8]) {
    let at = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    let (name, content) = (&rest[..at], rest.get(at + 1..).unwrap_or_default());
    if !name.is_empty() && !name.contains(&b'/') && !name.contains(&0) && !name.starts_with(b".") {
        // A name may be too long, or a directory's.
        let _ = fs::write(dir.join(std::ffi::OsStr::from_bytes(name)), content);
    }
}

/// Whoever damages the index does so without changing the directory, so that it is believed.
fn damage(data_dir: &Path, rest: &[u8]) {
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let Some((offset, byte)) = text.split_once(' ') else { return };
    let (Ok(offset), Ok(byte)) = (offset.parse::<u16>(), byte.trim().parse::<u8>()) else { return };
    if let Ok(index) = OpenOptions::new().write(true).open(data_dir.join(format!(".{NETWORK}.idx"))) {
        let _ = index.write_at(&[byte], u64::from(offset));
    }
}

fn owner(id: &[u8]) -> Option<Owner> {
    let id = ContainerId::new(String::from_utf8_lossy(id)).ok()?;
    Some(Owner::new(&id, &InterfaceName::new("eth0").ok()?))
}

fn network() -> NetworkName {
    NetworkName::new(NETWORK).expect("a good name")
}

/// What the files say, less the white space around it; those without content reserve nothing.
fn held(data_dir: &Path) -> BTreeMap<Addr, Vec<u8>> {
    let mut held = BTreeMap::new();
    for entry in fs::read_dir(data_dir.join(NETWORK)).expect("the directory can be read").flatten() {
        let name = entry.file_name();
        let Some(address) = name.to_str().and_then(Addr::from_file_name) else { continue };
        let content = fs::read(entry.path()).unwrap_or_default();
        let is_empty = std::str::from_utf8(&content).is_ok_and(|text| text.trim().is_empty());
        if !is_empty {
            held.insert(address, content);
        }
    }
    held
}

fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().map(str::trim)
}

fn add(data_dir: &Path, id: &[u8]) {
    let Some(owner) = owner(id) else { return };
    let before = held(data_dir);
    let mut store = Store::open(data_dir, &network()).expect("the store can be opened");
    let given = allocate(&mut store, &*SETS, &[], &owner);
    drop(store);
    let mut expected = before.clone();
    if let Ok(leases) = &given {
        assert_eq!(leases.len(), SETS.len());
        for lease in leases {
            assert!(
                SETS[lease.range_set].range_of(lease.address) == Some(lease.range),
                "outside of its range"
            );
            assert_ne!(lease.address, lease.range.gateway(), "a gateway is given out");
            let other = expected.insert(lease.address, owner.text().into());
            assert_eq!(other, None, "{} is given twice", lease.address);
        }
    }
    assert_eq!(held(data_dir), expected, "{given:?}");
}

fn del(data_dir: &Path, id: &[u8]) {
    let Some(owner) = owner(id) else { return };
    let mut expected = held(data_dir);
    let Some(mut store) = Store::find(data_dir, &network()).expect("the store can be found") else { return };
    let freed = store.release(&owner).expect("DEL succeeds");
    drop(store);
    for address in freed {
        let holder = expected.remove(&address).expect("what is freed was held");
        assert!(text(&holder) == Some(owner.text()) || text(&holder) == Some(owner.container_id()));
    }
    assert_eq!(held(data_dir), expected, "DEL takes what is its own and nothing else");
}

fn gc(data_dir: &Path, rest: &[u8]) {
    let rest = String::from_utf8_lossy(rest);
    let ids: Vec<&str> = rest.split(',').collect();
    let before = held(data_dir);
    let Some(mut store) = Store::find(data_dir, &network()).expect("the store can be found") else { return };
    let valid = ValidOwners::new(ids.iter().map(|id| (*id, "eth0")));
    store.collect_garbage(&valid).expect("GC succeeds");
    drop(store);
    let is_kept = |content: &[u8]| match text(content).map(Holder::of) {
        Some(Holder::Attachment { id, ifname }) => {
            ids.contains(&id.as_str()) && ifname.is_none_or(|ifname| ifname == "eth0")
        }
        Some(Holder::Unknown) | None => true,
    };
    let expected: BTreeMap<_, _> = before.into_iter().filter(|(_, content)| is_kept(content)).collect();
    assert_eq!(held(data_dir), expected, "GC frees what no valid attachment holds, and nothing else");
    for address in held(data_dir).keys() {
        let _: IpAddr = address.ip();
    }
}
