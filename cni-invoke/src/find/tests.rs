use std::os::unix::fs::symlink;

use super::*;

/// A directory with every kind of thing that can lie in a plugin directory.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let at = |name: &str| tree.path().join(name);
    fs::create_dir_all(at("one/dir")).unwrap();
    fs::create_dir_all(at("two")).unwrap();
    for (name, mode) in [("one/a", 0o755), ("two/a", 0o755), ("two/b", 0o700), ("one/noexec", 0o644)] {
        fs::write(at(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    symlink("../two/b", at("one/link")).unwrap();
    symlink("nowhere", at("one/dangling")).unwrap();
    symlink("/dev/null", at("one/device")).unwrap();
    tree
}

fn plugin(name: &str) -> PluginType {
    PluginType::new(name).unwrap()
}

#[test]
fn the_first_directory_that_has_it_wins() {
    let tree = tree();
    let (one, two) = (tree.path().join("one"), tree.path().join("two"));
    let missing = tree.path().join("missing");
    let found = |name: &str, dirs: &[&PathBuf]| {
        find_plugin(&plugin(name), &SearchPath::new(dirs.iter().copied())).unwrap()
    };
    assert_eq!(found("a", &[&one, &two]), one.join("a"));
    assert_eq!(found("a", &[&two, &one]), two.join("a"));
    assert_eq!(found("a", &[&missing, &two]), two.join("a"));
    assert_eq!(found("b", &[&one, &two]), two.join("b"));
    assert_eq!(found("link", &[&one, &two]), one.join("link"));
}

#[test]
fn c28_the_error_tells_every_directory_and_empty_ones_are_not_the_current() {
    let tree = tree();
    let one = tree.path().join("one").into_os_string().into_string().unwrap();
    for (name, miss) in [
        ("zz", "no such file"),
        ("dir", "not a regular file"),
        ("device", "not a regular file"),
        ("dangling", "a dangling link"),
        ("noexec", "not executable"),
    ] {
        let path = SearchPath::parse(format!("{one}::bin:{one}/missing:{one}/a"));
        let error = find_plugin(&plugin(name), &path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "failed to find plugin {name:?} in path [{one}  bin {one}/missing {one}/a]: {one:?} ({miss}), \
                 \"\" (not searched, an empty element names no directory), \
                 \"bin\" (not searched, a directory must be absolute), \
                 {:?} (no such directory), {:?} (Not a directory (os error 20))",
                format!("{one}/missing"),
                format!("{one}/a"),
            )
        );
    }
    let error = find_plugin(&plugin("a"), &SearchPath::parse("")).unwrap_err();
    insta::assert_snapshot!(error, @r#"failed to find plugin "a" in path []: no directory to search was given (CNI_PATH is empty or not set)"#);
}

#[test]
fn c28_a_bad_element_does_not_hide_a_good_one() {
    let tree = tree();
    let two = tree.path().join("two");
    let path = SearchPath::new([PathBuf::new(), "bin".into(), two.clone()]);
    assert_eq!(find_plugin(&plugin("a"), &path).unwrap(), two.join("a"));
}

#[test]
fn c28_more_directories_can_be_searched_than_the_plugin_is_told() {
    let tree = tree();
    let mut path = SearchPath::parse("/opt/none");
    path.push(tree.path().join("two"));
    assert_eq!(find_plugin(&plugin("b"), &path).unwrap(), tree.path().join("two/b"));
}

#[test]
fn a_path_is_read_and_written_the_same() {
    for text in ["/a:/b", "/a", "", "/a::/b", ":", "/a:"] {
        assert_eq!(SearchPath::parse(text).to_text(), text, "{text:?}");
    }
    let raw = OsStr::from_bytes(b"/\xff:/b");
    assert_eq!(SearchPath::parse(raw).to_text(), raw);
}
