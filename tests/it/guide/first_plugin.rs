//! The first plugin, as its page makes it: a new package with the README's plugin in it.

use std::path::{Path, PathBuf};

use super::{console, read, root};

/// What a page's reader has and this machine may not: the crate from the registry, and a registry to ask.
const PRELUDE: &str = r#"cargo() {
    if [ "$*" = "add --quiet cni-skel" ]; then set -- add --quiet --path "$SDK/cni-skel"; fi
    if [ "$1" = build ]; then cp "$SDK/Cargo.lock" Cargo.lock; fi
    command cargo --offline "$@"
}"#;

/// The plugin of the README.
fn plugin() -> String {
    let readme = read("README.md");
    let block = readme.split("```rust,no_run\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn c99_the_first_plugin_is_made_and_answers_as_the_guide_says() {
    let dir = tempfile::tempdir().unwrap();
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let mut shell = console::Shell::new(dir.path(), PRELUDE)
        .with("PATH", format!("{}:{}", cargo_dir().display(), var("PATH")))
        .with("HOME", var("HOME"))
        .with("SDK", root().to_str().unwrap())
        .with("CARGO_TARGET_DIR", dir.path().join("target").to_str().unwrap());
    for (name, value) in std::env::vars() {
        if matches!(name.as_str(), "CARGO_HOME" | "RUSTUP_HOME" | "RUSTUP_TOOLCHAIN") {
            shell = shell.with(&name, value);
        }
    }
    // Kept from run to run: only the first one compiles everything that the SDK depends on.
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-plugin");
    std::fs::create_dir_all(&kept).unwrap();
    std::os::unix::fs::symlink(&kept, dir.path().join("target")).unwrap();

    let mut compared = 0;
    for call in console::calls(&read("docs/guide/first-plugin.md")) {
        if call.command.starts_with("cargo build") {
            std::fs::write(dir.path().join("hello/src/main.rs"), plugin()).unwrap();
            std::os::unix::fs::symlink(&kept, dir.path().join("hello/target")).unwrap();
        }
        let printed = shell.run(&call.command);
        assert!(console::agrees(&call.shown, &printed), "$ {}\n{printed}", call.command);
        compared += usize::from(!call.shown.is_empty());
    }
    assert!(compared >= 6, "{compared} calls with output");
}

/// Where the `cargo` is that runs this test.
fn cargo_dir() -> PathBuf {
    Path::new(env!("CARGO")).parent().unwrap().to_owned()
}
