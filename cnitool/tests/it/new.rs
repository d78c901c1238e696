//! `new`: crates that build and pass their tests as they are made, and nothing that is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Host, Outcome};

/// The kinds, each with a name for a plugin of it.
const KINDS: [(&str, &str); 3] = [("interface", "hello"), ("chained", "node-registry"), ("ipam", "my_pool2")];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn new(host: &Host, words: &[&str]) -> Outcome {
    host.cnitool(&[&["new"], words].concat())
}

/// Runs cargo in a directory, with what the repository itself is built with and nothing from anywhere else.
fn cargo(dir: &Path, words: &[&str]) {
    // The toolchain that runs this test, for what cargo calls in turn as well.
    let toolchain = Path::new(env!("CARGO")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.env("PATH", format!("{}:{path}", toolchain.display()));
    // Kept from run to run, and for all kinds: dependencies are built once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
    cargo.args(words).current_dir(dir).env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true");
    cargo.env("CARGO_TERM_COLOR", "never").env_remove("RUSTFLAGS");
    let output = cargo.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}\n{}\n{told}", String::from_utf8_lossy(&output.stdout));
    assert!(!told.contains("warning:"), "{words:?}\n{told}");
}

#[test]
fn what_is_made_builds_without_a_warning_and_passes_its_tests() {
    let host = Host::new();
    for (kind, name) in KINDS {
        // As it is made for everybody, with the SDK from the registry.
        new(&host, &[name, "--kind", kind]).good();
    }
    // One workspace, so that cargo runs once; it finds the SDK here.
    let sdk = repository().join("cni-skel");
    let members: Vec<_> = KINDS.iter().map(|(_, name)| format!("{name:?}")).collect();
    host.write(
        "Cargo.toml",
        &format!(
            "[workspace]\nresolver = \"3\"\nmembers = [{}]\n[patch.crates-io]\ncni-skel.path = {sdk:?}\n",
            members.join(", ")
        ),
    );
    // Profiles are those of the workspace.
    for (_, name) in KINDS {
        let manifest = host.read(&format!("{name}/Cargo.toml"));
        let (manifest, profile) = manifest.split_once("\n# One small file").unwrap();
        assert!(profile.contains(
            "[profile.release]\nopt-level = \"s\"\nlto = \"fat\"\ncodegen-units = 1\nstrip = true\n"
        ));
        host.write(&format!("{name}/Cargo.toml"), manifest);
    }
    fs::copy(repository().join("Cargo.lock"), host.path("Cargo.lock")).unwrap();
    let dir = host.path("");
    cargo(&dir, &["test", "--workspace", "--quiet"]);
    cargo(&dir, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    cargo(&dir, &["fmt", "--all", "--check"]);
}

#[test]
fn it_is_told_what_was_made() {
    let host = Host::new();
    insta::assert_snapshot!(new(&host, &["hello"]).good().stdout, @r#"created hello: plugin "hello", of the kind interface; its README.md tells what is there, and how to go on"#);
    let told = new(&host, &["audit", "--kind", "chained", "--path", "a", "--json"]).good().json();
    assert_eq!(
        (&told["name"], &told["kind"], &told["path"]),
        (&"audit".into(), &"chained".into(), &"a".into())
    );
    for file in told["files"].as_array().unwrap() {
        let path = host.path("a").join(file.as_str().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        for left in ["my-plugin", "my_plugin", "MyPlugin", "@"] {
            assert!(!text.contains(left), "{}: {left}", path.display());
        }
    }
    let made: Vec<_> =
        fs::read_dir(host.path("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made.len(), 7, "{made:?}");
    // Every configuration can be used: the plugins are all that is missing.
    for (conf, plugins) in
        [("hello/10-hello.conflist", ["hello", "host-local"]), ("a/10-audit.conflist", ["bridge", "audit"])]
    {
        let outcome = host.cnitool(&["validate", conf]);
        assert!(plugins.iter().all(|plugin| outcome.stdout.contains(plugin)), "{outcome}");
        assert!(
            outcome.stdout.lines().skip(1).all(|line| line.contains("failed to find plugin")),
            "{outcome}"
        );
    }
}

#[test]
fn the_sdk_can_be_a_checkout() {
    let host = Host::new();
    let sdk = repository();
    new(&host, &["hello", "--sdk-path", sdk.to_str().unwrap()]).good();
    let manifest = host.read("hello/Cargo.toml");
    let path = format!("cni-skel = {{ path = {:?} }}\n", sdk.join("cni-skel"));
    assert!(manifest.contains(&path), "{manifest}");
    insta::assert_snapshot!(new(&host, &["x", "--sdk-path", "net.d"]).bad(2).stderr, @"error: --sdk-path: cannot use net.d: it has no cni-skel");
    assert!(!host.path("x").exists());
}

#[test]
fn names_that_will_not_do_are_told_with_the_reason() {
    let host = Host::new();
    for (name, told) in [
        ("Hello", "expected lower-case letters and digits, a letter first"),
        ("../hello", "expected lower-case letters and digits, a letter first"),
        ("", "expected lower-case letters and digits, a letter first"),
        ("static", "the word means something to Rust or to cargo"),
        ("serde", "the new crate depends on one of that name"),
        ("plugin", "the code of the new crate has the word for something else"),
    ] {
        let outcome = new(&host, &[name]).bad(2);
        let start = format!("error: NAME: {name:?} cannot be a new plugin's name: {told}");
        assert!(outcome.stderr.starts_with(&start), "{outcome}");
    }
    assert!(new(&host, &["x", "--kind", "meta"]).bad(2).stderr.contains("interface, chained, ipam"));
}

#[test]
fn nothing_is_overwritten_and_nothing_is_half_made() {
    let host = Host::new();
    host.write("hello/notes", "mine");
    host.write("file", "mine");
    std::os::unix::fs::symlink("nowhere", host.path("link")).unwrap();
    let entries = || {
        let names = fs::read_dir(host.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let before = entries();
    for path in ["hello", "file", "link", "hello/", "."] {
        let outcome = new(&host, &["hello", "--path", path]).bad(2);
        assert!(outcome.stderr.contains("is there already, and nothing is overwritten"), "{outcome}");
    }
    let outcome = new(&host, &["hello", "--path", "no/such/dir"]).bad(1);
    assert_eq!(outcome.stderr, "error: cannot write no/such/dir: No such file or directory (os error 2)\n");
    assert_eq!(entries(), before);
    assert_eq!(host.read("hello/notes"), "mine");
}
