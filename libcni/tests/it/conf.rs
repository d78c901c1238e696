//! Configuration files and folders of them.

use libcni::{LoadError, Network, Scan, SkipReason, conf_files};

use crate::support::Dir;

const LIST: &str = r#"{"cniVersion":"1.0.0","name":"net1","plugins":[{"type":"bridge"}]}"#;

fn types(network: &Network) -> Vec<&str> {
    network.plugins().iter().map(|plugin| plugin.plugin_type().as_str()).collect()
}

/// What is wrong, with the folder's path left out.
fn told(dir: &Dir, error: &dyn ToString) -> String {
    error
        .to_string()
        .replace(&format!("{}/", dir.path().display()), "")
        .replace(&dir.path().display().to_string(), "DIR")
}

#[test]
fn c04_an_unknown_version_is_told_with_those_that_are_supported_and_can_still_be_torn_down() {
    let network = Network::from_list(LIST.replace("1.0.0", "1.0.1").as_bytes()).unwrap();
    insta::assert_snapshot!(network.version().unwrap_err(), @r#"configuration version "1.0.1" is not supported, expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0"#);
}

#[test]
fn c17_a_missing_name_is_told_at_load() {
    let dir = Dir::with(&[("99-loopback.conf", r#"{"cniVersion":"1.0.0","type":"loopback"}"#)]);
    let skipped = Scan::read(dir.path()).unwrap().skipped;
    insta::assert_snapshot!(told(&dir, &skipped[0]), @r#"99-loopback.conf:1:1: name: missing network name: must start with a letter or digit, followed by letters, digits, '_', '.' or '-'"#);
    assert_eq!(skipped[0].problems()[0].code().value(), 7);
}

#[test]
fn c29_a_type_that_is_a_path_is_refused_at_load() {
    for plugin in ["../../sbin/reboot", "..", "/bin/sh", ""] {
        let list = serde_json::json!({"name": "n", "plugins": [{"type": "a"}, {"type": plugin}]}).to_string();
        let problems = Network::from_list(list.as_bytes()).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].path.as_deref(), Some("plugins[1].type"), "{plugin}");
    }
}

#[test]
fn c34_a_list_in_a_file_for_one_plugin_and_the_reverse_are_told_as_such() {
    let dir = Dir::with(&[
        ("10-x.conf", r#"{"cniVersion":"1.0.0","name":"x","plugins":[{"type":"bridge"}]}"#),
        ("20-y.conflist", r#"{"cniVersion":"0.4.0","name":"y","type":"bridge"}"#),
    ]);
    let told_of = |name: &str| told(&dir, &Network::load(dir.path(), name).unwrap_err());
    insta::assert_snapshot!(told_of("x"), @"10-x.conf:1:44: plugins: this is a network configuration list, and the name of its file should end in .conflist");
    insta::assert_snapshot!(told_of("y"), @"20-y.conflist:1:1: plugins: missing, but there is a 'type': this is the configuration of a single plugin, and the name of its file should end in .conf");
}

#[test]
fn c34_lists_come_before_single_plugins_and_bytes_of_names_order_each() {
    let dir = Dir::with(&[
        ("00-a.conf", r#"{"name":"net1","type":"single"}"#),
        ("99-z.conflist", LIST),
        ("5.json", r#"{"name":"net2","type":"first"}"#),
        ("10.conf", r#"{"name":"net2","type":"second"}"#),
    ]);
    assert_eq!(types(&Network::load(dir.path(), "net1").unwrap()), ["bridge"]);
    assert_eq!(types(&Network::load(dir.path(), "net2").unwrap()), ["second"]);
}

#[test]
fn c35_only_exact_extensions_count_and_an_empty_folder_is_no_parse_error() {
    let dir = Dir::with(&[("10-x.conflist.temp", "{"), (".10-x.conflist.swp", "x"), ("sub.conflist/x", "")]);
    assert!(matches!(Network::load_default(dir.path()), Err(LoadError::NoConfigs { .. })));
    std::fs::write(dir.join("10-x.conflist.temp"), LIST).unwrap();
    std::fs::rename(dir.join("10-x.conflist.temp"), dir.join("10-x.conflist")).unwrap();
    let network = Network::load_default(dir.path()).unwrap();
    assert_eq!(network.name(), &"net1");
    assert_eq!(network.skipped().len(), 1);
    assert_eq!(network.skipped()[0].reason, SkipReason::OtherName);

    let missing = Network::load(dir.join("none"), "net1").unwrap_err();
    assert!(matches!(missing, LoadError::NoConfigs { .. }));
    assert_eq!(missing.to_string(), format!("no net configurations found in {}/none", dir.path().display()));
}

#[test]
fn c36_the_chosen_file_and_the_skipped_ones_are_told() {
    let dir = Dir::with(&[
        ("05-old.conf", r#"{"name":"old","type":"a"}"#),
        ("10-new.conflist", LIST),
        ("20-new.conflist", LIST),
    ]);
    let chosen = Network::load_default(dir.path()).unwrap();
    assert_eq!(chosen.file().unwrap(), dir.join("10-new.conflist"));
    insta::assert_snapshot!(told(&dir, &chosen.skipped()[0]), @r#"20-new.conflist: network "net1" is taken from 10-new.conflist"#);
    assert_eq!(Network::load(dir.path(), "old").unwrap().file().unwrap(), dir.join("05-old.conf"));
}

#[test]
fn c37_a_bad_file_does_not_hide_a_good_one() {
    let dir = Dir::with(&[
        ("00-bad.conflist", "{"),
        ("05-new.conflist", r#"{"cniVersion":"9.9.9","name":"new","plugins":[{"type":"a"}]}"#),
        ("10-ok.conflist", r#"{"name":"ok","plugins":[{"type":"a"}]}"#),
    ]);
    let chosen = Network::load_default(dir.path()).unwrap();
    assert_eq!((chosen.name().as_str(), chosen.version().unwrap().as_str()), ("ok", "0.1.0"));
    let skipped: Vec<_> = chosen.skipped().iter().map(|skipped| told(&dir, skipped)).collect();
    insta::assert_snapshot!(skipped.join("\n"), @r#"
    00-bad.conflist:1:1: EOF while parsing an object
    05-new.conflist:1:15: cniVersion: configuration version "9.9.9" is not supported, expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0
    "#);
    assert_eq!(Network::load(dir.path(), "ok").unwrap().name(), &"ok");
    insta::assert_snapshot!(told(&dir, &Network::load(dir.path(), "other").unwrap_err()), @r#"no net configuration with name "other" in DIR, which has "new", "ok"; skipped 00-bad.conflist:1:1: EOF while parsing an object"#);
}

#[test]
fn c38_drop_in_plugins_follow_the_inlined_ones() {
    let drop_ins = [
        ("n1/20-t.conf", r#"{"type":"tuning"}"#),
        ("n1/10-s.conf", r#"{"type":"sbr"}"#),
        ("n1/30-x.json", r#"{"type":"x"}"#),
        ("n1/40-d.conf/x", ""),
    ];
    let load = |list: &str| {
        let dir = Dir::with(&drop_ins);
        dir.write("10-n1.conflist", list);
        Network::load(dir.path(), "n1").map_err(|error| told(&dir, &error))
    };
    let plugins = r#""plugins":[{"type":"bridge"}]"#;
    let network = load(&format!(r#"{{"name":"n1",{plugins}}}"#)).unwrap();
    assert_eq!(types(&network), ["bridge", "sbr", "tuning"]);
    assert!(network.plugins()[1].file().unwrap().ends_with("n1/10-s.conf"));
    assert_eq!(network.bytes(), format!(r#"{{"name":"n1",{plugins}}}"#).as_bytes());

    assert_eq!(types(&load(r#"{"name":"n1"}"#).unwrap()), ["sbr", "tuning"]);
    let only = load(&format!(r#"{{"name":"n1","loadOnlyInlinedPlugins":"True",{plugins}}}"#)).unwrap();
    assert_eq!(types(&only), ["bridge"]);

    insta::assert_snapshot!(load(r#"{"name":"n1","loadOnlyInlinedPlugins":true}"#).unwrap_err(), @"10-n1.conflist:1:1: plugins: missing, and 'loadOnlyInlinedPlugins' is true, so that nothing could be run");
    let dir = Dir::with(&[("10-n1.conflist", r#"{"name":"n1"}"#)]);
    insta::assert_snapshot!(told(&dir, &Network::load(dir.path(), "n1").unwrap_err()), @"10-n1.conflist:1:1: plugins: missing, and there is no .conf file in n1, expected at least one plugin");
}

#[test]
fn c38_a_bad_drop_in_is_told_with_its_own_file_and_makes_the_network_unusable() {
    let dir = Dir::with(&[
        ("10-n1.conflist", r#"{"name":"n1","plugins":[{"type":"bridge"}]}"#),
        ("n1/a.conf", "{\n\"type\": 7}"),
        ("n1/b.conf", "{\n\"x\": 7}"),
        ("n1/c.conf", r#"{"type":"c"}"#),
        ("20-n2.conflist", r#"{"name":"n2","plugins":[{"type":"bridge"}]}"#),
    ]);
    insta::assert_snapshot!(told(&dir, &Network::load(dir.path(), "n1").unwrap_err()), @r#"n1/a.conf:2:9: type: invalid type: integer `7`, expected a string; n1/b.conf:1:1: type: missing plugin type: must be the file name of a plugin, not a path"#);
    assert!(Network::load(dir.path(), "n2").is_ok());
}

#[test]
fn c39_the_highest_released_version_is_used() {
    let version = |versions: &str| {
        let list = format!(r#"{{"name":"n",{versions}"plugins":[{{"type":"a"}}]}}"#);
        Network::from_list(list.as_bytes()).map(|network| network.version().unwrap().to_string())
    };
    assert_eq!(
        version(r#""cniVersion":"0.3.1","cniVersions":["0.4.0","1.0.0","1.1.0","9.9.9"],"#).unwrap(),
        "1.1.0"
    );
    assert_eq!(version(r#""cniVersions":["0.4.0","0.5.0"],"#).unwrap(), "0.4.0");
    assert_eq!(version(r#""cniVersion":"1.0.0","cniVersions":["0.4.0"],"#).unwrap(), "1.0.0");
    assert_eq!(version("").unwrap(), "0.1.0");
    for (bad, path) in [
        (r#"["1.0.0", 7]"#, "cniVersions[1]"),
        (r#"["abc"]"#, "cniVersions[0]"),
        (r#"["1"]"#, "cniVersions[0]"),
    ] {
        let problems = version(&format!(r#""cniVersions":{bad},"#)).unwrap_err();
        assert_eq!(problems[0].path.as_deref(), Some(path), "{problems:?}");
    }
    let too_new = r#"{"name":"n","cniVersion":"2.0.0","cniVersions":["9.9.9"],"plugins":[{"type":"a"}]}"#;
    let error = Network::from_list(too_new.as_bytes()).unwrap().version().unwrap_err();
    assert_eq!(
        (error.claimed.as_slice(), error.code().value()),
        (["2.0.0".to_owned(), "9.9.9".to_owned()].as_slice(), 1)
    );
}

#[test]
fn c42_flags_are_booleans_or_the_words_in_any_case() {
    for (value, set) in
        [("true", true), (r#""true""#, true), (r#""TRUE""#, true), ("false", false), (r#""False""#, false)]
    {
        let list = format!(
            r#"{{"name":"n","disableCheck":{value},"disableGC":{value},"plugins":[{{"type":"a"}}]}}"#
        );
        let network = Network::from_list(list.as_bytes()).unwrap();
        assert_eq!((network.disable_check(), network.disable_gc()), (set, set), "{value}");
    }
    for value in [r#""yes""#, "1", "null", r#"" true""#, "[]"] {
        for flag in ["disableCheck", "disableGC", "loadOnlyInlinedPlugins"] {
            let list = format!(r#"{{"name":"n","{flag}":{value},"plugins":[{{"type":"a"}}]}}"#);
            let problems = Network::from_list(list.as_bytes()).unwrap_err();
            assert_eq!((problems.len(), problems[0].path.as_deref()), (1, Some(flag)), "{value}");
        }
    }
}

#[test]
fn c43_a_list_without_plugins_is_a_load_error() {
    for plugins in ["[]", "null", "{}", r#""a""#] {
        let list = format!(r#"{{"name":"n","plugins":{plugins}}}"#);
        let problems = Network::from_list(list.as_bytes()).unwrap_err();
        assert_eq!(
            (problems.len(), problems[0].path.as_deref()),
            (1, Some("plugins")),
            "{plugins}: {problems:?}"
        );
    }
}

#[test]
fn c98_every_problem_is_told_at_once_with_line_and_column() {
    let dir = Dir::with(&[
        (
            "10-a.conflist",
            "{\n  \"cniVersion\": \"1.x\",\n  \"name\": \"a/b\",\n  \"disableGC\": 1,\n  \"plugins\": [\n    {\"type\": \"../x\"},\n    {\"kind\": \"y\"}, 7\n  ]\n}",
        ),
        (
            "20-b.conflist",
            "{\n  \"cniVersion\": \"1.0.0\",\n  \"name\": \"b\",\n  \"plugins\": [\n    {\n      \"type\": \"bridge,\n    }\n  ]\n}",
        ),
    ]);
    let scan = Scan::read(dir.path()).unwrap();
    let all: Vec<_> = scan
        .skipped
        .iter()
        .flat_map(|skipped| skipped.problems())
        .map(|problem| told(&dir, problem))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    10-a.conflist:2:17: cniVersion: "1.x" is not a version, expected three numbers such as "1.0.0"
    10-a.conflist:3:11: name: invalid characters found in network name "a/b": must start with a letter or digit, followed by letters, digits, '_', '.' or '-'
    10-a.conflist:4:16: disableGC: invalid type: integer `1`, expected true, false, or one of them as a string
    10-a.conflist:6:14: plugins[0].type: invalid plugin type "../x": must be the file name of a plugin, not a path
    10-a.conflist:7:5: plugins[1].type: missing plugin type: must be the file name of a plugin, not a path
    10-a.conflist:7:20: plugins[2]: invalid type: integer `7`, expected an object
    20-b.conflist:6:22: control character (\u0000-\u001F) found while parsing a string
    "#);
}

#[test]
fn c101_the_error_lists_the_names_that_the_folder_has() {
    let dir = Dir::with(&[("10.conflist", LIST)]);
    insta::assert_snapshot!(told(&dir, &Network::load(dir.path(), "net9").unwrap_err()), @r#"no net configuration with name "net9" in DIR, which has "net1""#);
}

#[test]
fn a_name_never_leads_out_of_the_folder() {
    let root = Dir::with(&[
        ("evil/a.conf", r#"{"type":"outside"}"#),
        ("conf/10.conflist", r#"{"name":"../evil","plugins":[{"type":"a"}]}"#),
        ("conf/20.conflist", r#"{"name":".","plugins":[{"type":"a"}]}"#),
    ]);
    let scan = Scan::read(root.join("conf")).unwrap();
    assert!(scan.networks.is_empty());
    assert!(scan.skipped.iter().all(|skipped| skipped.problems()[0].path.as_deref() == Some("name")));
}

#[test]
fn what_is_no_file_does_no_harm() {
    let dir = Dir::with(&[("20.conflist", LIST)]);
    std::os::unix::fs::symlink("nowhere", dir.join("05.conflist")).unwrap();
    std::os::unix::fs::symlink(".", dir.join("06.conflist")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.join("07.conflist"), rustix::fs::Mode::RWXU).unwrap();
    std::os::unix::fs::symlink("20.conflist", dir.join("10.conflist")).unwrap();
    let network = Network::load(dir.path(), "net1").unwrap();
    assert_eq!(network.file().unwrap(), dir.join("10.conflist"));
    let skipped: Vec<_> = network.skipped().iter().map(|skipped| told(&dir, skipped)).collect();
    insta::assert_snapshot!(skipped.join("\n"), @r#"
    05.conflist: cannot read: No such file or directory (os error 2)
    06.conflist: cannot read: is a directory
    07.conflist: cannot read: not a regular file
    20.conflist: network "net1" is taken from 10.conflist
    "#);
}

#[test]
fn a_single_plugin_becomes_a_list_of_one_with_all_its_digits() {
    let dir =
        Dir::with(&[("10.conf", r#"{"name":"net1","type":"a","x":9007199254740993,"disableCheck":true}"#)]);
    let network = Network::load(dir.path(), "net1").unwrap();
    assert!(!network.disable_check());
    assert_eq!(
        std::str::from_utf8(network.bytes()).unwrap(),
        r#"{"name":"net1","plugins":[{"name":"net1","type":"a","x":9007199254740993,"disableCheck":true}]}"#
    );
    assert_eq!(types(&Network::from_list(network.bytes()).unwrap()), ["a"]);
}

#[test]
fn files_are_listed_by_what_follows_the_last_dot() {
    let dir = Dir::with(&[
        (".conf", ""),
        ("a.conf", ""),
        ("b.CONF", ""),
        ("c.conf.bak", ""),
        ("d.json", ""),
        ("e", ""),
        ("f.conf/x", ""),
    ]);
    let names = |extensions: &[&str]| -> Vec<String> {
        let files = conf_files(dir.path(), extensions).unwrap();
        files.iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[".conf", ".json"]), [".conf", "a.conf", "d.json"]);
    assert_eq!(names(&[".bak"]), ["c.conf.bak"]);
    assert_eq!(names(&["conf"]), Vec::<String>::new());
}
