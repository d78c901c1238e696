//! Which pages there are, who runs their console blocks, and that the pages find each other.

use std::collections::BTreeMap;

use super::{console, read, root};

/// Who runs the console blocks of a page: files that read it.
const RUNNERS: [(&str, &[&str]); 5] = [
    // The gate runs these very commands.
    ("README.md", &[".ci/run"]),
    ("docs/guide/cnitool.md", &["cnitool/tests/it/guide.rs", "tests/it/guide/cnitool.rs"]),
    ("docs/guide/debugging.md", &["tests/it/guide/debugging.rs"]),
    ("docs/guide/first-plugin.md", &["tests/it/guide/first_plugin.rs"]),
    ("docs/guide/from-nothing-to-a-node.md", &["tests/it/new_user.rs"]),
];

/// Pages of the guide that are no part of the crate's documentation: they are about a package, an image and a cluster.
const ON_THEIR_OWN: [&str; 2] = ["docs/guide/from-nothing-to-a-node.md", "docs/guide/shipping.md"];

/// The pages of the guide and the README, by path.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("README.md".to_owned(), read("README.md"))]);
    for dir in ["docs", "docs/guide"] {
        for entry in std::fs::read_dir(root().join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                let path = format!("{dir}/{name}");
                pages.insert(path.clone(), read(&path));
            }
        }
    }
    pages
}

#[test]
fn every_console_block_is_run_by_a_test() {
    for (path, page) in pages() {
        if console::calls(&page).is_empty() {
            continue;
        }
        let name = path.rsplit('/').next().unwrap();
        let listed = RUNNERS.iter().find(|(listed, _)| *listed == path);
        let (_, runners) = listed.unwrap_or_else(|| panic!("{path}: nobody runs its console blocks"));
        for runner in *runners {
            let runner = read(runner);
            if path == "README.md" {
                let commands: Vec<_> = console::calls(&page).into_iter().map(|call| call.command).collect();
                assert_eq!(commands, ["cargo demo", "cargo test --workspace"]);
                assert!(
                    commands.iter().all(|command| runner.contains(command.as_str())),
                    "the gate runs the README"
                );
            } else {
                assert!(
                    runner.contains(name) && runner.contains("console"),
                    "{path}: its runner does not run it"
                );
            }
        }
    }
}

/// The targets of a page's links.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let inline = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined =
        page.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ").map(|(_, target)| target));
    inline.chain(defined)
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut seen = 0;
    for (path, page) in pages() {
        let dir = root().join(&path).parent().unwrap().to_owned();
        for target in links(&page).filter(|target| !target.contains("://")) {
            let (file, section) = target.split_once('#').unwrap_or((target, ""));
            let found = if file.is_empty() { root().join(&path) } else { dir.join(file) };
            assert!(found.exists(), "{path}: {target} leads nowhere");
            if !section.is_empty() {
                let headings = std::fs::read_to_string(&found).unwrap();
                let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
                let anchor = |line: &str| {
                    let text: String = line.trim_start_matches('#').trim().chars().filter(kept).collect();
                    text.to_lowercase().replace(' ', "-")
                };
                let there = headings.lines().any(|line| line.starts_with('#') && anchor(line) == section);
                assert!(there, "{path}: {target} has no such section");
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} links");
}

/// The pages that are part of the crate's documentation link by name, so that the names can lead to modules there.
#[test]
fn every_link_of_a_page_in_the_documentation_is_to_a_page_there() {
    let modules = read("cni-skel/src/guide.rs");
    let names = read("cni-skel/src/guide/links.md");
    let included = |path: &str| path != "README.md" && modules.contains(&path["docs/".len()..]);
    for (path, page) in pages().into_iter().filter(|(path, _)| included(path)) {
        for (at, line) in page.lines().enumerate() {
            let Some((label, target)) = line.strip_prefix('[').and_then(|line| line.split_once("]: ")) else {
                for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                    let outside = target.contains("://") || target.starts_with('#');
                    assert!(outside, "{path}:{}: {target:?} must be linked by a name", at + 1);
                }
                continue;
            };
            let known = label == "conformance" || names.contains(&format!("[{label}]: "));
            assert!(
                target.contains("://") || known,
                "{path}: {label:?} is not in cni-skel/src/guide/links.md"
            );
        }
    }
    let guide = pages().into_keys().filter(|path| path.starts_with("docs/guide/"));
    for path in guide.filter(|path| !ON_THEIR_OWN.contains(&path.as_str())) {
        assert!(included(&path), "{path} is not part of the documentation: see cni-skel/src/guide.rs");
    }
}

/// docs.rs builds the documentation from the package, where nothing but the crate's own folder is.
#[test]
fn the_pages_of_the_documentation_are_packaged() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", "cni-skel"])
        .current_dir(root())
        .output()
        .unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let modules = read("cni-skel/src/guide.rs");
    let files = modules.split('"').filter(|text| text.ends_with(".md") && !text.contains("guide/links"));
    let mut seen = 0;
    for file in files {
        let file = format!("docs/{}", file.trim_start_matches("../docs/"));
        assert!(listed.lines().any(|line| line == file), "{file} is not packaged:\n{listed}");
        seen += 1;
    }
    assert!(seen > 12, "{seen} pages");
    assert!(!listed.contains("docs/guide/ports"), "the ports are no part of the crate");
}
