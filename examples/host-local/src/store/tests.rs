//! The store alone and shared with Go's plugin and with people, whose doings are written out by hand here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;
use crate::reservation::ValidOwners;

struct Network {
    root: tempfile::TempDir,
}

impl Network {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn open(&self) -> Store {
        Store::open(self.root.path(), &name()).unwrap()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join("net").join(file)
    }

    /// As Go's plugin writes a reservation, under the lock.
    fn go_reserves(&self, address: &str, text: &str) {
        fs::create_dir_all(self.path("")).unwrap();
        let _lock = Lock::acquire(self.path("lock")).unwrap();
        fs::write(self.path(address), text).unwrap();
    }

    /// The names in the directory, in order.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn name() -> NetworkName {
    "net".parse().unwrap()
}

fn owner(id: &str, ifname: &str) -> Owner {
    Owner::new(&id.parse().unwrap(), &ifname.parse().unwrap())
}

fn addr(text: &str) -> Addr {
    Addr::from(text.parse::<std::net::IpAddr>().unwrap())
}

/// Whether the answers came from the index on disk, without reading the directory.
fn used_index(store: &Store) -> bool {
    store.table.as_ref().is_some_and(|table| !table.is_new())
}

#[test]
fn c104_files_are_gos_byte_for_byte() {
    let net = Network::new();
    let mut store = net.open();
    assert_eq!(store.held_by(&owner("c1", "eth0")).unwrap(), []);
    assert!(store.reserve(addr("10.0.0.2"), &owner("c1", "eth0")).unwrap());
    assert!(store.reserve(addr("fd00:1::2"), &owner("c1", "eth0")).unwrap());
    store.set_last_reserved(0, Some(addr("10.0.0.2"))).unwrap();
    store.set_last_reserved(1, Some(addr("fd00:1::2"))).unwrap();
    drop(store);
    assert_eq!(net.files(), ["10.0.0.2", "fd00:1::2", "last_reserved_ip.0", "last_reserved_ip.1", "lock"]);
    for (file, content, mode) in [
        ("10.0.0.2", "c1\r\neth0", 0o600),
        ("fd00:1::2", "c1\r\neth0", 0o600),
        ("last_reserved_ip.1", "fd00:1::2", 0o600),
        ("lock", "", 0o750),
    ] {
        assert_eq!(fs::read_to_string(net.path(file)).unwrap(), content);
        assert_eq!(fs::metadata(net.path(file)).unwrap().permissions().mode() & 0o777, mode, "{file}");
    }
    assert!(net.root.path().join(".net.idx").exists());
}

#[test]
fn the_directory_is_read_once_and_then_only_after_a_foreign_change() {
    let net = Network::new();
    net.go_reserves("10.0.0.2", "c1\r\neth0");
    let held = |store: &mut Store, id: &str| store.held_by(&owner(id, "eth0")).unwrap();
    let mut store = net.open();
    assert_eq!(held(&mut store, "c1"), [addr("10.0.0.2")]);
    assert!(!used_index(&store));
    drop(store);
    // Any number of calls of our own, be they the kind that changes something or not.
    for (round, id) in ["c2", "c3", "c4"].into_iter().enumerate() {
        let mut store = net.open();
        assert_eq!(held(&mut store, "c1"), [addr("10.0.0.2")]);
        assert!(used_index(&store));
        let address = store.next_free(addr("10.0.0.0"), addr("10.0.0.9")).unwrap().unwrap();
        assert!(store.reserve(address, &owner(id, "eth0")).unwrap());
        drop(store);
        let mut store = net.open();
        assert_eq!(held(&mut store, id), [address]);
        assert!(used_index(&store));
        drop(store);
        let mut store = net.open();
        assert_eq!(store.release(&owner(id, "eth0")).unwrap(), [address]);
        assert!(used_index(&store));
        drop(store);
        // Go's plugin again.
        net.go_reserves(&format!("10.0.1.{round}"), &format!("{id}\r\neth0"));
        let mut store = net.open();
        assert_eq!(held(&mut store, id).len(), 1);
        assert!(!used_index(&store));
    }
}

#[test]
fn what_a_person_does_to_files_counts() {
    let net = Network::new();
    let mut store = net.open();
    for host in 2..6 {
        assert!(store.reserve(addr(&format!("10.0.0.{host}")), &owner(&format!("c{host}"), "eth0")).unwrap());
    }
    drop(store);
    // Removed.
    fs::remove_file(net.path("10.0.0.2")).unwrap();
    assert_eq!(net.open().held_by(&owner("c2", "eth0")).unwrap(), []);
    // Given to another by a new file.
    fs::write(net.path("new"), "c9\r\neth0").unwrap();
    fs::rename(net.path("new"), net.path("10.0.0.3")).unwrap();
    assert_eq!(net.open().held_by(&owner("c9", "eth0")).unwrap(), [addr("10.0.0.3")]);
    // Written into: the old owner must not give back what is now another's.
    fs::write(net.path("10.0.0.4"), "c8\r\neth0").unwrap();
    assert_eq!(net.open().release(&owner("c4", "eth0")).unwrap(), []);
    assert!(net.path("10.0.0.4").exists());
    assert_eq!(net.open().release(&owner("c8", "eth0")).unwrap(), [addr("10.0.0.4")], "and then it is known");
    // Moved to another address.
    fs::rename(net.path("10.0.0.5"), net.path("10.0.0.50")).unwrap();
    assert_eq!(net.open().release(&owner("c5", "eth0")).unwrap(), [addr("10.0.0.50")]);
    assert_eq!(net.files(), ["10.0.0.3", "lock"]);
}

#[test]
fn a_damaged_index_costs_time_and_nothing_else() {
    let net = Network::new();
    let file = net.root.path().join(".net.idx");
    for damage in
        [&|bytes: &mut Vec<u8>| bytes.truncate(4096), &|bytes: &mut Vec<u8>| bytes[4096..].fill(0xa5)]
            as [&dyn Fn(&mut Vec<u8>); 2]
    {
        net.open().reserve(addr("10.0.0.2"), &owner("c1", "eth0")).unwrap();
        drop(net.open());
        let mut store = net.open();
        store.held_by(&owner("c1", "eth0")).unwrap();
        drop(store);
        let mut bytes = fs::read(&file).unwrap();
        damage(&mut bytes);
        fs::write(&file, bytes).unwrap();
        let mut store = net.open();
        assert_eq!(store.held_by(&owner("c1", "eth0")).unwrap(), [addr("10.0.0.2")]);
        assert_eq!(store.next_free(addr("10.0.0.2"), addr("10.0.0.9")).unwrap(), Some(addr("10.0.0.3")));
        assert_eq!(store.release(&owner("c1", "eth0")).unwrap(), [addr("10.0.0.2")]);
        drop(store);
        assert_eq!(net.open().held_by(&owner("c1", "eth0")).unwrap(), []);
    }
}

#[test]
fn an_address_is_reserved_once() {
    let net = Network::new();
    assert!(net.open().reserve(addr("10.0.0.2"), &owner("c1", "eth0")).unwrap());
    let mut store = net.open();
    assert!(!store.reserve(addr("10.0.0.2"), &owner("c2", "eth0")).unwrap());
    // Also where the index does not know it.
    store.held_by(&owner("c2", "eth0")).unwrap();
    fs::write(net.path("10.0.0.3"), "c3").unwrap();
    assert!(!store.reserve(addr("10.0.0.3"), &owner("c2", "eth0")).unwrap());
    assert_eq!(store.next_free(addr("10.0.0.2"), addr("10.0.0.9")).unwrap(), Some(addr("10.0.0.4")));
}

#[test]
fn a_file_without_content_reserves_nothing() {
    let net = Network::new();
    net.go_reserves("10.0.0.2", "");
    let mut store = net.open();
    assert_eq!(store.next_free(addr("10.0.0.2"), addr("10.0.0.9")).unwrap(), Some(addr("10.0.0.2")));
    assert_eq!(store.holder(addr("10.0.0.2")).unwrap(), None);
    assert!(store.reserve(addr("10.0.0.2"), &owner("c1", "eth0")).unwrap());
    assert_eq!(fs::read(net.path("10.0.0.2")).unwrap(), b"c1\r\neth0");
    assert_eq!(store.next_free(addr("10.0.0.2"), addr("10.0.0.9")).unwrap(), Some(addr("10.0.0.3")));
}

#[test]
fn a_file_that_is_no_reservation_keeps_the_address_and_stays() {
    let net = Network::new();
    net.go_reserves("10.0.0.2", "for the router");
    fs::create_dir(net.path("10.0.0.3")).unwrap();
    let mut store = net.open();
    assert_eq!(store.next_free(addr("10.0.0.2"), addr("10.0.0.9")).unwrap(), Some(addr("10.0.0.4")));
    assert_eq!(store.holder(addr("10.0.0.3")).unwrap(), Some(Holder::Unknown));
    assert!(!store.reserve(addr("10.0.0.3"), &owner("c1", "eth0")).unwrap());
    assert_eq!(store.collect_garbage(&ValidOwners::default()).unwrap(), []);
    drop(store);
    assert_eq!(net.files(), ["10.0.0.2", "10.0.0.3", "lock"]);
}

#[test]
fn what_an_old_plugin_wrote_is_given_back_with_any_interface() {
    let net = Network::new();
    net.go_reserves("10.0.0.2", "c1");
    net.go_reserves("10.0.0.3", "c1\r\neth0\n");
    assert_eq!(net.open().held_by(&owner("c1", "eth1")).unwrap(), [addr("10.0.0.2")]);
    assert_eq!(net.open().held_by(&owner("c1", "eth0")).unwrap(), [addr("10.0.0.3"), addr("10.0.0.2")]);
    // What names the interface goes first, and alone: Go's plugin removes both if there are two range sets.
    assert_eq!(net.open().release(&owner("c1", "eth0")).unwrap(), [addr("10.0.0.3")]);
    assert_eq!(net.open().release(&owner("c1", "eth0")).unwrap(), [addr("10.0.0.2")]);
    assert_eq!(net.open().release(&owner("c1", "eth0")).unwrap(), []);
}

#[test]
fn foreign_files_are_not_given_back_whatever_stands_in_them() {
    let net = Network::new();
    net.go_reserves("notes.txt", "c1\r\neth0");
    net.go_reserves("10.0.0.2", "c1\r\neth0");
    assert_eq!(net.open().release(&owner("c1", "eth0")).unwrap(), [addr("10.0.0.2")]);
    assert_eq!(net.files(), ["lock", "notes.txt"]);
}

#[test]
fn what_a_killed_call_left_goes_with_the_next_one() {
    let net = Network::new();
    net.go_reserves("10.0.0.2", "c1\r\neth0");
    net.go_reserves(".tmp-aB12xY", "c2\r\neth0");
    net.go_reserves(".tmp-of-mine", "c2\r\neth0");
    assert_eq!(net.open().held_by(&owner("c2", "eth0")).unwrap(), []);
    assert_eq!(net.files(), [".tmp-of-mine", "10.0.0.2", "lock"]);
}

#[test]
fn c54_garbage_is_what_no_valid_attachment_holds() {
    let net = Network::new();
    for (file, content) in [
        ("10.1.0.2", "c1\r\neth0"),
        ("10.1.0.3", "c2\r\neth0"),
        ("10.1.0.4", "c1"),
        ("10.1.0.5", "c3"),
        ("10.1.0.6", ""),
        ("10.1.0.7", "c1\r\neth1"),
        (".tmp-Xy12ab", "c9\r\neth0"),
        ("last_reserved_ip.0", "10.1.0.3"),
        ("notes.txt", "c2\r\neth0"),
    ] {
        net.go_reserves(file, content);
    }
    let mut removed = net.open().collect_garbage(&ValidOwners::new([("c1", "eth0")])).unwrap();
    removed.sort();
    assert_eq!(removed, ["10.1.0.3", "10.1.0.5", "10.1.0.6", "10.1.0.7"].map(addr));
    assert_eq!(net.files(), ["10.1.0.2", "10.1.0.4", "last_reserved_ip.0", "lock", "notes.txt"]);
    // The index knows.
    let mut store = net.open();
    assert_eq!(store.held_by(&owner("c1", "eth0")).unwrap(), [addr("10.1.0.2"), addr("10.1.0.4")]);
    assert_eq!(store.next_free(addr("10.1.0.2"), addr("10.1.0.9")).unwrap(), Some(addr("10.1.0.3")));
    assert!(used_index(&store));
}

#[test]
fn the_address_given_out_last_is_read_whatever_stands_there() {
    let net = Network::new();
    let mut store = net.open();
    assert_eq!(store.last_reserved(0), None);
    for (content, expected) in
        [("10.0.0.7", true), ("10.0.0.7\n", true), ("", false), ("rubbish", false), ("10.0.0.700", false)]
    {
        fs::write(net.path("last_reserved_ip.0"), content).unwrap();
        assert_eq!(store.last_reserved(0), expected.then(|| addr("10.0.0.7")), "{content:?}");
    }
    fs::write(net.path("last_reserved_ip.0"), [0xff]).unwrap();
    assert_eq!(store.last_reserved(0), None);
    store.set_last_reserved(0, Some(addr("fd00::9"))).unwrap();
    assert_eq!(store.last_reserved(0), Some(addr("fd00::9")));
}

#[test]
fn a_network_without_directory_has_no_store_and_gets_none_by_looking() {
    let net = Network::new();
    assert!(Store::find(net.root.path(), &name()).unwrap().is_none());
    assert!(!net.path("").exists());
    fs::write(net.root.path().join("file"), "").unwrap();
    let error = Store::open(&net.root.path().join("file"), &name()).unwrap_err().to_string();
    assert!(error.starts_with("failed to create directory"), "{error}");
}

#[test]
fn c22_del_succeeds_where_a_file_in_the_directorys_place_made_add_fail() {
    let net = Network::new();
    fs::write(net.root.path().join("file"), "").unwrap();
    assert!(Store::find(&net.root.path().join("file"), &name()).unwrap().is_none());
    fs::write(net.root.path().join("net"), "").unwrap();
    assert!(Store::find(net.root.path(), &name()).unwrap().is_none());
}

/// What is done to a network from outside and by this plugin, in any order.
#[derive(Clone, Copy, Debug)]
enum Step {
    Reserve(u8, u8),
    Release(u8),
    GoReserves(u8, u8),
    GoReleases(u8),
    PersonRemoves(u8),
    Empty(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..12, 0u8..8).prop_map(|(host, id)| Step::Reserve(host, id)),
        3 => (0u8..8).prop_map(Step::Release),
        1 => (0u8..12, 0u8..8).prop_map(|(host, id)| Step::GoReserves(host, id)),
        1 => (0u8..8).prop_map(Step::GoReleases),
        1 => (0u8..12).prop_map(Step::PersonRemoves),
        1 => (0u8..12).prop_map(Step::Empty),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_index_never_says_anything_but_what_the_directory_does(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let net = Network::new();
        fs::create_dir(net.path("")).unwrap();
        let host = |host: u8| format!("10.0.0.{host}");
        let text = |id: u8| format!("c{id}\r\neth0");
        for step in steps {
            match step {
                Step::Reserve(at, id) => {
                    let before = scan::read(&net.path(&host(at))).unwrap();
                    let reserved = net.open().reserve(addr(&host(at)), &owner(&format!("c{id}"), "eth0")).unwrap();
                    prop_assert_eq!(reserved, matches!(before, None | Some(Content::Empty)));
                }
                Step::Release(id) => {
                    net.open().release(&owner(&format!("c{id}"), "eth0")).unwrap();
                    for (_, content) in scan::scan(&net.path("")).unwrap().files {
                        prop_assert_ne!(content, Content::Text(text(id)));
                    }
                }
                Step::GoReserves(at, id) if !net.path(&host(at)).exists() => net.go_reserves(&host(at), &text(id)),
                Step::GoReserves(..) => {}
                Step::GoReleases(id) => {
                    for (address, content) in scan::scan(&net.path("")).unwrap().files {
                        if content == Content::Text(text(id)) {
                            fs::remove_file(net.path(&address.to_string())).unwrap();
                        }
                    }
                }
                Step::PersonRemoves(at) => drop(fs::remove_file(net.path(&host(at)))),
                Step::Empty(at) if !net.path(&host(at)).exists() => fs::write(net.path(&host(at)), "").unwrap(),
                Step::Empty(_) => {}
            }
            let mut store = net.open();
            let files = scan::scan(&net.path("")).unwrap().files;
            for at in 0..12 {
                let address = addr(&host(at));
                let held = files.iter().any(|(found, content)| *found == address && *content != Content::Empty);
                prop_assert_eq!(store.next_free(address, address).unwrap().is_none(), held, "{}", address);
            }
            for id in 0..8 {
                let mut expected: Vec<_> =
                    files.iter().filter(|(_, content)| *content == Content::Text(text(id))).map(|(at, _)| *at).collect();
                expected.sort();
                prop_assert_eq!(store.held_by(&owner(&format!("c{id}"), "eth0")).unwrap(), expected);
            }
        }
    }
}
