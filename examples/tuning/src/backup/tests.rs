use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// What Debian's tuning 1.1.1 wrote for a veth pair's end with all settings changed; it knows no `txQLen` yet.
const BY_GO: &str =
    "{\n \"mac\": \"66:1e:7d:32:b4:eb\",\n \"promisc\": false,\n \"mtu\": 1500,\n \"allmulti\": false\n}";

fn originals() -> Originals {
    Originals {
        mac: Some("66:1e:7d:32:b4:eb".into()),
        promisc: Some(false),
        mtu: Some(1500),
        allmulti: Some(false),
        tx_queue: Some(1000),
        network: Some("net1".into()),
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_gos_and_says_whose_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("cni/tuning");
    Backup::of(&data_dir, "c1", "eth0").save(originals()).unwrap();
    let path = data_dir.join("c1_eth0.json");
    let gos = BY_GO.trim_end_matches("\n}");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!("{gos},\n \"txQLen\": 1000,\n \"network\": \"net1\"\n}}")
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(data_dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(Backup::of(&data_dir, "c1", "eth0").find().unwrap(), Found::Originals(originals()));
}

#[test]
fn gos_file_is_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c1_eth0.json"), BY_GO).unwrap();
    let found = Backup::of(dir.path(), "c1", "eth0").find().unwrap();
    assert_eq!(found, Found::Originals(Originals { tx_queue: None, network: None, ..originals() }));
}

#[test]
fn what_was_saved_first_stays() {
    let dir = tempfile::tempdir().unwrap();
    let first = Originals { mtu: Some(1500), network: Some("net1".into()), ..Originals::default() };
    Backup::of(dir.path(), "c1", "eth0").save(first).unwrap();
    // By now the MTU is the tuned one.
    let second = Originals { mtu: Some(9000), promisc: Some(false), ..Originals::default() };
    let saved = Backup::of(dir.path(), "c1", "eth0").save(second).unwrap();
    let Found::Originals(found) = Backup::of(dir.path(), "c1", "eth0").find().unwrap() else { panic!() };
    assert_eq!((found.mtu, found.promisc), (Some(1500), Some(false)));

    saved.undo().unwrap();
    let Found::Originals(found) = Backup::of(dir.path(), "c1", "eth0").find().unwrap() else { panic!() };
    assert_eq!((found.mtu, found.promisc), (Some(1500), None));
}

#[test]
fn a_new_file_is_undone_by_removing_it() {
    let dir = tempfile::tempdir().unwrap();
    Backup::of(dir.path(), "c1", "eth0").save(originals()).unwrap().undo().unwrap();
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_damaged_file_is_told_and_written_anew() {
    for damaged in ["", "{", "7", "null", r#"{"mtu": "big"}"#, "\u{0}"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c1_eth0.json");
        fs::write(&path, damaged).unwrap();
        let backup = Backup::of(dir.path(), "c1", "eth0");
        assert_eq!(backup.find().unwrap(), Found::Damaged, "{damaged:?}");
        let saved = backup.save(originals()).unwrap();
        assert_eq!(Backup::of(dir.path(), "c1", "eth0").find().unwrap(), Found::Originals(originals()));
        saved.undo().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
fn a_file_is_read_up_to_a_limit_and_is_damaged_beyond() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c1_eth0.json");
    let found = |length: u64| {
        let json = r#"{"mtu":1400}"#;
        fs::write(&path, json.to_owned() + &" ".repeat(length as usize - json.len())).unwrap();
        Backup::of(dir.path(), "c1", "eth0").find().unwrap()
    };
    assert!(matches!(found(bounded::MAX_BYTES), Found::Originals(_)));
    assert_eq!(found(bounded::MAX_BYTES + 1), Found::Damaged);
}

#[test]
fn an_address_that_is_none_is_not_restored() {
    for (mac, known) in [
        ("66:1e:7d:32:b4:eb", true),
        ("00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10:00:00:00:01", false),
        ("", false),
    ] {
        assert_eq!(
            Originals { mac: Some(mac.into()), ..Originals::default() }.mac().is_some(),
            known,
            "{mac}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("c1_eth0.json")).unwrap();
    let error = Backup::of(dir.path(), "c1", "eth0").find().unwrap_err().to_object().msg;
    assert!(error.starts_with("failed to read backup "), "{error}");
}

#[test]
fn gc_removes_what_is_the_networks_and_dead() {
    let dir = tempfile::tempdir().unwrap();
    let of = |network: &str| Originals { network: Some(network.into()), ..originals() };
    for (id, ifname, network) in [
        ("dead", "eth0", "net1"),
        ("alive", "eth0", "net1"),
        ("alive", "eth1", "net1"),
        ("other", "eth0", "net2"),
    ] {
        Backup::of(dir.path(), id, ifname).save(of(network)).unwrap();
    }
    fs::write(dir.path().join("go_eth0.json"), BY_GO).unwrap();
    fs::write(dir.path().join("damaged_eth0.json"), "{").unwrap();
    fs::write(dir.path().join("notes"), "").unwrap();
    collect(dir.path(), "net1", &[Attachment::new("alive", "eth0")]).unwrap();
    assert_eq!(
        names(dir.path()),
        ["alive_eth0.json", "damaged_eth0.json", "go_eth0.json", "notes", "other_eth0.json"]
    );
    collect(&dir.path().join("none"), "net1", &[]).unwrap();
}
