use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::{Network, RuntimeConf};

struct Store {
    dir: tempfile::TempDir,
    cache: Cache,
}

impl Store {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path().join("cni"));
        Self { dir, cache }
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.cache.results()) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.cache.results()).unwrap();
        fs::write(self.cache.results().join(name), text).unwrap();
    }

    fn add(&self, network: &Network, rt: &RuntimeConf) {
        self.cache.begin(network, rt).unwrap().commit(&result("10.1.0.5/16")).unwrap();
    }

    fn is_good(&self, network: &Network, rt: &RuntimeConf) -> bool {
        matches!(self.cache.result(identity(network, rt)), CachedResult::Good(_))
    }
}

fn network(name: &str) -> Network {
    let list = serde_json::json!({"cniVersion": "1.0.0", "name": name, "plugins": [{"type": "a"}]});
    Network::from_list(list.to_string().as_bytes()).unwrap()
}

fn rt(container_id: &str) -> RuntimeConf {
    RuntimeConf::new(container_id, "eth0").unwrap()
}

fn result(address: &str) -> VersionedResult {
    let json = serde_json::json!({"cniVersion": "1.0.0", "ips": [{"address": address}]});
    VersionedResult::decode(json.to_string().as_bytes()).unwrap()
}

#[test]
fn files_have_the_names_and_modes_that_go_gives_them() {
    let store = Store::new();
    store.add(&network("net1"), &rt("c1"));
    assert_eq!(store.names(), ["net1-c1-eth0"]);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(store.cache.results().join("net1-c1-eth0")), 0o600);
    assert_eq!(mode(store.cache.results()), 0o700);
    assert_eq!(mode(store.cache.dir().to_owned()), 0o700);
}

#[test]
fn an_add_under_way_leaves_a_record_that_counts_for_nothing_but_gc() {
    let store = Store::new();
    let (network, rt) = (network("net1"), rt("c1"));
    let pending = store.cache.begin(&network, &rt).unwrap();
    assert_eq!(store.names(), ["~4.2.net1-c1-eth0"]);
    assert!(!store.is_good(&network, &rt));
    let listing = store.cache.list().unwrap();
    assert!(!listing.attachments[0].is_finished());
    pending.abandon();
    assert_eq!(store.names(), Vec::<String>::new());

    drop(store.cache.begin(&network, &rt).unwrap());
    assert_eq!(store.names(), ["~4.2.net1-c1-eth0"]);
    assert!(store.cache.remove(identity(&network, &rt)).is_empty());
    assert_eq!(store.names(), Vec::<String>::new());
}

#[test]
fn a_result_that_has_not_got_its_own_name_yet_counts() {
    let store = Store::new();
    let (network, rt) = (network("net1"), rt("c1"));
    store.add(&network, &rt);
    let results = store.cache.results();
    fs::rename(results.join("net1-c1-eth0"), results.join("~4.2.net1-c1-eth0")).unwrap();
    assert!(store.is_good(&network, &rt));
    assert!(store.cache.list().unwrap().attachments[0].is_finished());
    assert!(store.cache.remove(identity(&network, &rt)).is_empty());
    assert_eq!(store.names(), Vec::<String>::new());
    // What is damaged there is no result, and keeps none from being found absent.
    store.put("~4.2.net1-c1-eth0", "not json");
    assert!(matches!(store.cache.result(identity(&network, &rt)), CachedResult::None { other: None }));
}

#[test]
fn an_add_after_one_that_was_stopped_between_the_two_names_keeps_the_result_of_that() {
    let store = Store::new();
    let (network, rt) = (network("net1"), rt("c1"));
    let results = store.cache.results();
    let stop_between = || {
        store.add(&network, &rt);
        fs::rename(results.join("net1-c1-eth0"), results.join("~4.2.net1-c1-eth0")).unwrap();
    };
    stop_between();
    drop(store.cache.begin(&network, &rt).unwrap());
    assert_eq!(store.names(), ["net1-c1-eth0", "~4.2.net1-c1-eth0"]);
    assert!(store.is_good(&network, &rt));
    assert!(store.cache.list().unwrap().attachments[0].is_finished());
    // Whether that ADD is refused or not.
    stop_between();
    store.cache.begin(&network, &rt).unwrap().abandon();
    assert_eq!(store.names(), ["net1-c1-eth0"]);
    assert!(store.is_good(&network, &rt));
    stop_between();
    store.add(&network, &rt);
    assert_eq!(store.names(), ["net1-c1-eth0"]);
}

#[test]
fn c46_attachments_that_share_gos_name_do_each_other_no_harm() {
    let store = Store::new();
    let (one, other) = ((network("a-b"), rt("c")), (network("a"), rt("b-c")));
    store.add(&one.0, &one.1);
    store.add(&other.0, &other.1);
    assert_eq!(store.names(), ["_1.3.a-b-c-eth0", "a-b-c-eth0"]);
    assert!(store.is_good(&one.0, &one.1) && store.is_good(&other.0, &other.1));
    let listed: Vec<_> = store.cache.list().unwrap().attachments;
    assert_eq!(listed.iter().map(|it| it.network_name()).collect::<Vec<_>>(), ["a", "a-b"]);

    store.cache.remove(identity(&other.0, &other.1));
    assert!(store.is_good(&one.0, &one.1) && !store.is_good(&other.0, &other.1));
    store.cache.remove(identity(&other.0, &other.1));
    assert_eq!(store.names(), ["a-b-c-eth0"]);
    // The one that had the second name keeps it, whoever has the first.
    store.add(&other.0, &other.1);
    store.cache.remove(identity(&one.0, &one.1));
    assert_eq!(store.names(), ["_1.3.a-b-c-eth0"]);
    assert!(store.is_good(&other.0, &other.1));
}

#[test]
fn a_second_add_replaces_the_first_in_either_place() {
    let store = Store::new();
    let (one, other) = ((network("a-b"), rt("c")), (network("a"), rt("b-c")));
    store.add(&one.0, &one.1);
    store.add(&other.0, &other.1);
    store.cache.remove(identity(&one.0, &one.1));
    // Go's name is free now, and the record under the second one must not outlive the new one.
    store.add(&other.0, &other.1);
    assert_eq!(store.names(), ["a-b-c-eth0"]);
    assert!(store.cache.remove(identity(&other.0, &other.1)).is_empty());
    assert_eq!(store.names(), Vec::<String>::new());
}

#[test]
fn a_damaged_file_is_its_names_and_is_replaced_or_removed() {
    let store = Store::new();
    let (network, rt) = (network("net1"), rt("c1"));
    for damaged in ["not json", "", "null", "{}", r#"{"kind":"cniCacheV9"}"#] {
        store.put("net1-c1-eth0", damaged);
        assert!(matches!(store.cache.result(identity(&network, &rt)), CachedResult::Bad { .. }), "{damaged}");
        store.add(&network, &rt);
        assert!(store.is_good(&network, &rt));
        store.put("net1-c1-eth0", damaged);
        assert!(store.cache.remove(identity(&network, &rt)).is_empty());
        assert_eq!(store.names(), Vec::<String>::new());
    }
}

#[test]
fn an_empty_directory_in_the_place_of_a_file_is_removed_and_a_full_one_is_told() {
    let store = Store::new();
    let (network, rt) = (network("net1"), rt("c1"));
    fs::create_dir_all(store.cache.results().join("net1-c1-eth0")).unwrap();
    let error = store.cache.begin(&network, &rt).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    assert!(store.cache.remove(identity(&network, &rt)).is_empty());
    assert_eq!(store.names(), Vec::<String>::new());

    store.put("net1-c1-eth0.d", "");
    fs::create_dir_all(store.cache.results().join("net1-c1-eth0/x")).unwrap();
    assert_eq!(store.cache.remove(identity(&network, &rt)).len(), 1);
}

#[test]
fn a_name_that_is_too_long_is_refused_before_anything_is_written() {
    let store = Store::new();
    let (network, rt) = (network(&"n".repeat(200)), rt(&"c".repeat(60)));
    let error = store.cache.begin(&network, &rt).unwrap_err();
    insta::assert_snapshot!(error, @"the name of the cache file would be 266 bytes long, at most 255 are possible");
    assert!(matches!(store.cache.result(identity(&network, &rt)), CachedResult::None { other: None }));
    assert!(store.cache.remove(identity(&network, &rt)).is_empty());
    let listed = fs::read_dir(store.dir.path()).unwrap().count();
    assert_eq!(listed, 0);
}

#[test]
fn the_longest_name_that_go_can_write_can_be_written() {
    let store = Store::new();
    let (network, rt) = (network(&"n".repeat(180)), rt(&"c".repeat(69)));
    store.add(&network, &rt);
    assert_eq!(store.names()[0].len(), 255);
    assert!(store.is_good(&network, &rt));
    assert!(store.cache.remove(identity(&network, &rt)).is_empty());
    assert_eq!(store.names(), Vec::<String>::new());
}

#[test]
fn a_listing_goes_by_content_and_says_what_it_left_out() {
    let store = Store::new();
    store.add(&network("net1"), &rt("c1"));
    let copy = fs::read_to_string(store.cache.results().join("net1-c1-eth0")).unwrap();
    store.put("misnamed", &copy.replace("\"c1\"", "\"c5\""));
    store.put("z-copy", &copy);
    store.put("~4.2.net1-c1-eth0", &copy.replace("cniCacheV1", "cniPendingV1"));
    store.put("junk", "not json");
    store.put("legacy", r#"{"cniVersion":"1.0.0"}"#);
    store.put("nameless", &copy.replace("\"c1\"", "\"\""));
    store.put(".libcni-abc", "{");
    let listing = store.cache.list().unwrap();
    let found: Vec<_> = listing.attachments.iter().map(|it| (it.container_id(), it.is_finished())).collect();
    assert_eq!(found, [("c5", true), ("c1", true)]);
    assert_eq!(listing.attachments[1].file().file_name().unwrap(), "net1-c1-eth0");
    assert_eq!(listing.unusable.len(), 3);
    assert_eq!(listing.leftovers.len(), 1);
    assert!(listing.attachments[1].remove_files().is_empty());
    assert_eq!(store.names(), [".libcni-abc", "junk", "legacy", "misnamed", "nameless"]);
}

#[test]
fn a_cache_that_is_no_directory_is_an_error_and_a_missing_one_is_empty() {
    let store = Store::new();
    assert!(store.cache.list().unwrap().attachments.is_empty());
    fs::create_dir_all(store.cache.dir()).unwrap();
    fs::write(store.cache.results(), "").unwrap();
    assert!(store.cache.list().is_err());
    assert!(store.cache.begin(&network("n"), &rt("c")).is_err());
}

#[test]
fn a_commit_that_fails_leaves_no_temporary_file_and_the_record_of_the_add() {
    let store = Store::new();
    let (network, rt) = (network("net1"), rt("c1"));
    let pending = store.cache.begin(&network, &rt).unwrap();
    fs::create_dir_all(store.cache.results().join("net1-c1-eth0/x")).unwrap();
    assert!(pending.commit(&result("10.1.0.6/16")).is_err());
    assert_eq!(store.names(), ["net1-c1-eth0", "~4.2.net1-c1-eth0"]);
}

/// Found by fuzzing: the configuration of a single plugin that has a key `plugins`.
#[test]
fn a_single_plugin_with_a_key_plugins_is_read_back_as_what_it_is() {
    let json = br#"{"cniVersion":"1.0.0","name":"net1","type":"a","plugins":[{"type":null}],"x":1.0}"#;
    let network = Network::from_plugin(json).unwrap();
    let store = Store::new();
    store.add(&network, &rt("c1"));
    let cached = store.cache.list().unwrap().attachments;
    let again = cached[0].network().unwrap();
    assert_eq!(again.plugins().len(), 1);
    assert_eq!(again.plugins()[0].object(), network.plugins()[0].object());
}

#[test]
fn a_file_that_could_not_be_read_again_is_refused_before_anything_is_done() {
    let store = Store::new();
    // What the record has besides the configuration, which is in it by base64.
    let of_length = |length: usize| {
        let mut list = serde_json::json!({"name": "net1", "plugins": [{"type": "a"}], "x": ""});
        let rest = list.to_string().len();
        list["x"] = "x".repeat(length - rest).into();
        Network::from_list(list.to_string().as_bytes()).unwrap()
    };
    let frame = entry::pending(&of_length(300), &rt("c1")).unwrap().len() - 400;
    let most = (crate::file::MAX_FILE_BYTES as usize - frame) / 4 * 3;
    assert!(store.cache.begin(&of_length(most), &rt("c1")).is_ok());
    let error = store.cache.begin(&of_length(most + 3), &rt("c2")).unwrap_err();
    let length = (most + 3) / 3 * 4 + frame;
    assert_eq!(
        error.to_string(),
        format!("the cache file would be {length} bytes large, at most 16777216 are read again")
    );
    let listed = store.cache.list().unwrap();
    assert_eq!((listed.attachments.len(), listed.unusable.len(), listed.leftovers.len()), (1, 0, 0));
}
