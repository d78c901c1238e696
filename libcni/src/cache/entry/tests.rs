use super::*;

fn record(json: &str) -> Record {
    match decode(json.as_bytes()).unwrap() {
        Content::Record(record) => *record,
        Content::Legacy(_) => panic!("not a record: {json}"),
    }
}

const GO: &str = include_str!("../../../tests/data/cache/go-v1-capabilities.json");

#[test]
fn what_go_wrote_is_read() {
    let record = record(GO);
    assert_eq!(record.identity(), Identity { network: "net1", container_id: "c1", ifname: "eth0" });
    assert_eq!(record.netns.as_deref(), Some("/run/netns/c1"));
    assert_eq!(record.args, [("K8S_POD_NAME".into(), "pod".into()), ("IgnoreUnknown".into(), "1".into())]);
    assert_eq!(
        record.capability_args.find("bandwidth").unwrap().as_str(),
        r#"{"burst":0.5,"ingressRate":9007199254740992}"#
    );
    assert!(record.config.starts_with(br#"{"cniVersion":"1.0.0","name":"net1""#));
    assert_eq!(record.result().unwrap().version().as_str(), "1.0.0");
}

#[test]
fn what_is_written_is_what_go_writes_key_for_key() {
    let go = record(GO);
    let network = Network::from_list(&go.config).unwrap();
    let rt = RuntimeConf::new("c1", "eth0")
        .unwrap()
        .with_netns("/run/netns/c1")
        .with_args("K8S_POD_NAME=pod;IgnoreUnknown=1".parse().unwrap())
        .with_capability_args(go.capability_args.clone());
    let written = String::from_utf8(finished(&network, &rt, &go.result().unwrap()).unwrap()).unwrap();
    let (ours, theirs) = (written.split_once("\"result\"").unwrap(), GO.split_once("\"result\"").unwrap());
    assert_eq!(ours.0, theirs.0);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&written), value(GO));

    let bare = RuntimeConf::new("c1", "eth0").unwrap();
    let written = String::from_utf8(pending(&network, &bare).unwrap()).unwrap();
    let keys: Vec<_> = value(&written).as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["config", "containerId", "ifName", "kind", "networkName"]);
    assert!(!record(&written).finished);
}

#[test]
fn a_record_with_anything_unreadable_is_damaged_and_says_where() {
    let with = |from: &str, to: &str| decode(GO.replace(from, to).as_bytes()).unwrap_err().to_string();
    for (why, start) in [
        (with(r#""config":"ey"#, r#""config":"**"#), "config: Invalid symbol 42"),
        (with(r#""cniArgs":[["#, r#""cniArgs":["x",["#), "cniArgs: invalid type"),
        (with("cniCacheV1", "cniCacheV2"), r#"unknown kind "cniCacheV2", expected "cniCacheV1""#),
        (with(r#""c1""#, "7"), "containerId: invalid type"),
        (decode(&GO.as_bytes()[..100]).unwrap_err().to_string(), "EOF while parsing"),
        (decode(b"null").unwrap_err().to_string(), "invalid type: null, expected an object"),
        (decode(b"{}").unwrap_err().to_string(), "neither a record nor a result"),
        (decode(br#"{"config":"","result":{}}"#).unwrap_err().to_string(), "neither a record nor a result"),
    ] {
        assert!(why.starts_with(start), "{why}");
    }
    for result in ["null", "[]", r#"{"cniVersion":"1.0.0","ips":[null]}"#, r#"{"cniVersion":"9.9.9"}"#] {
        let json = format!(r#"{{"kind":"cniCacheV1","result":{result}}}"#);
        assert!(record(&json).result().is_err(), "{result}");
    }
}

#[test]
fn keys_are_found_in_any_case_and_pairs_are_read_as_go_reads_them() {
    let json = r#"{"KIND":"cniCacheV1","ContainerID":"c","IFNAME":"e","networkname":"n","CniArgs":[["A"],["B","2","3"]],"cniargs":null}"#;
    let record = record(json);
    assert_eq!(record.identity(), Identity { network: "n", container_id: "c", ifname: "e" });
    assert_eq!(record.args, []);
    let json = json.replace(r#","cniargs":null"#, "");
    assert_eq!(super::tests::record(&json).args, [("A".into(), String::new()), ("B".into(), "2".into())]);
}

#[test]
fn what_old_libraries_wrote_is_a_bare_result() {
    for (text, version) in [
        (include_str!("../../../tests/data/cache/go-legacy-0.2.0.json"), "0.2.0"),
        (include_str!("../../../tests/data/cache/go-legacy-0.3.1.json"), "0.3.1"),
        (r#"{"ip4":{"ip":"10.1.0.5/16"}}"#, "0.1.0"),
    ] {
        match decode(text.as_bytes()).unwrap() {
            Content::Legacy(result) => assert_eq!(result.version().as_str(), version),
            Content::Record(record) => panic!("{record:?}"),
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(text in r#"\{("kind":"cniCacheV1",)?("[a-z]{1,8}":[\[\]{}0-9",a-z:]{0,12},?){0,4}\}"#) {
        let _ = decode(text.as_bytes());
    }

    #[test]
    fn what_is_written_is_read_back(
        container_id in "[a-z0-9][a-zA-Z0-9_.-]{0,20}",
        ifname in "[^/:\\s.]{1,4}",
        netns in "[ -~]{0,20}",
        pairs in proptest::collection::vec(("[A-Z]{1,5}", "[ -:<-~]{0,8}"), 0..4),
    ) {
        let network = Network::from_list(br#"{"name":"n","plugins":[{"type":"a","x":1e400}]}"#).unwrap();
        let mut rt = RuntimeConf::new(&container_id, &ifname).unwrap().with_netns(&netns);
        for (key, value) in &pairs {
            rt = rt.with_arg(key, value).unwrap();
        }
        let read = record(std::str::from_utf8(&pending(&network, &rt).unwrap()).unwrap());
        proptest::prop_assert_eq!(read.container_id, container_id);
        proptest::prop_assert_eq!(read.ifname, ifname);
        proptest::prop_assert_eq!(read.netns.unwrap_or_default(), netns);
        proptest::prop_assert_eq!(read.args, pairs);
        proptest::prop_assert_eq!(read.config, network.bytes());
    }
}
