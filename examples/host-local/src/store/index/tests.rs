//! When an index is believed, and above all when not: whatever a crash, a copy or a foreign hand leaves behind.

use std::fs;
use std::net::IpAddr;

use super::*;
use crate::addr::Addr;

struct Network {
    _root: tempfile::TempDir,
    dir: PathBuf,
}

impl Network {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("net");
        fs::create_dir(&dir).unwrap();
        Self { _root: root, dir }
    }

    fn index(&self) -> Index {
        Index::beside(&self.dir).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.dir.with_file_name(".net.idx")
    }

    /// Reserves an address, in the directory and in the index, believed or made anew.
    fn reserve(&self, address: &str) {
        let mut index = self.index();
        let mut table = index.load().unwrap_or_else(|| Table::with_room_for(0));
        fs::write(self.dir.join(address), "c1").unwrap();
        table.insert(addr(address), Some(1)).unwrap();
        index.store(&mut table);
    }

    fn is_believed(&self) -> bool {
        self.index().load().is_some()
    }
}

fn addr(text: &str) -> Addr {
    Addr::from(text.parse::<IpAddr>().unwrap())
}

#[test]
fn what_was_written_is_believed_until_the_directory_changes() {
    let net = Network::new();
    assert!(!net.is_believed(), "there is none");
    net.reserve("10.0.0.2");
    net.reserve("10.0.0.3");
    let mut table = net.index().load().unwrap();
    assert!(!table.is_new());
    assert_eq!(table.addresses_of(1).unwrap(), [addr("10.0.0.2"), addr("10.0.0.3")]);
    // A failed attempt to change something.
    assert!(fs::remove_file(net.dir.join("10.0.0.9")).is_err());
    assert!(net.is_believed());
    fs::write(net.dir.join("10.0.0.4"), "c2\r\neth0").unwrap();
    assert!(!net.is_believed());
}

#[test]
fn an_index_of_another_boot_form_or_directory_is_not_believed() {
    let net = Network::new();
    net.reserve("10.0.0.2");
    let mut index = net.index();
    index.boot[3] ^= 1;
    assert!(index.load().is_none());

    let whole = fs::read(net.file()).unwrap();
    for at in 0..HEADER {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(net.file(), &damaged).unwrap();
        assert!(!net.is_believed(), "byte {at}");
    }
    for length in [0, 1, HEADER - 1] {
        fs::write(net.file(), &whole[..length]).unwrap();
        assert!(!net.is_believed(), "{length} bytes");
    }
    fs::write(net.file(), &whole).unwrap();
    assert!(net.is_believed());

    // All of it copied to elsewhere, times included.
    let other = Network::new();
    let from = net.dir.parent().unwrap().join(".");
    let status =
        std::process::Command::new("cp").arg("-a").arg(from).arg(other.dir.parent().unwrap()).status();
    assert!(status.unwrap().success());
    assert!(other.file().exists() && other.dir.join("10.0.0.2").exists());
    assert!(!other.is_believed());
}

#[test]
fn a_call_that_is_killed_anywhere_leaves_nothing_to_believe() {
    let net = Network::new();
    net.reserve("10.0.0.2");
    for step in 0..3 {
        net.reserve("10.0.0.9");
        assert!(net.is_believed());
        let mut index = net.index();
        let mut table = index.load().unwrap();
        fs::write(net.dir.join(format!("10.0.1.{step}")), "c1").unwrap();
        if step >= 1 {
            Stamp::renew(&index.dir, index.last.unwrap().1 + 1).unwrap().unwrap();
        }
        if step >= 2 {
            table.insert(addr("10.0.1.2"), Some(1)).unwrap();
            table.write_changes(&File::options().write(true).open(net.file()).unwrap()).unwrap();
        }
        assert!(!net.is_believed(), "killed after step {step}");
    }
}

#[test]
fn a_change_between_the_end_of_the_work_and_the_stamp_of_the_next_call_shows() {
    let net = Network::new();
    for round in 0..500 {
        net.reserve("10.0.0.2");
        assert!(net.is_believed());
        // Within the same tick of the clock, most of the time.
        fs::write(net.dir.join("10.0.0.3"), "c2\r\neth0").unwrap();
        assert!(!net.is_believed(), "round {round}");
        fs::remove_file(net.dir.join("10.0.0.3")).unwrap();
    }
}

#[test]
fn a_table_that_changed_where_the_directory_did_not_is_thrown_away() {
    let net = Network::new();
    net.reserve("10.0.0.2");
    let mut index = net.index();
    let mut table = index.load().unwrap();
    table.insert(addr("10.0.0.7"), Some(1)).unwrap();
    index.store(&mut table);
    assert!(!net.file().exists());
}

#[test]
fn a_link_in_place_of_the_index_is_not_followed() {
    let net = Network::new();
    let victim = net.dir.with_file_name("victim");
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, net.file()).unwrap();
    net.reserve("10.0.0.2");
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn an_index_that_cannot_be_written_is_none() {
    let net = Network::new();
    fs::create_dir(net.file()).unwrap();
    net.reserve("10.0.0.2");
    assert!(!net.is_believed());
    let long = net.dir.with_file_name("n".repeat(252));
    fs::create_dir(&long).unwrap();
    let mut index = Index::beside(&long).unwrap();
    assert!(index.load().is_none());
    index.store(&mut Table::with_room_for(0));
}
