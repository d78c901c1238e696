//! The crates as they are kept, and how a name gets into them.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::Name;

/// What a new plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Makes the container's interface, with addresses of an IPAM plugin
    Interface,
    /// Runs after another plugin, and passes its result on
    Chained,
    /// Gives out addresses to the plugin that calls it
    Ipam,
}

/// Paths in a crate, and what stands in the files.
type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($kind:literal: $($code:literal),*) => {
        &[
            ("Cargo.toml", include_str!(concat!("../../../templates/", $kind, "/manifest.toml"))),
            ("README.md", include_str!(concat!("../../../templates/", $kind, "/README.md"))),
            ("10-my-plugin.conflist", include_str!(concat!("../../../templates/", $kind, "/conflist.json"))),
            ("conformance.json", include_str!(concat!("../../../templates/", $kind, "/conformance.json"))),
            (".gitignore", "/target\n"),
            $(($code, include_str!(concat!("../../../templates/", $kind, "/", $code)))),*
        ]
    };
}

const INTERFACE: Files =
    files!("interface": "src/kernel.rs", "src/lib.rs", "src/main.rs", "src/netlink.rs", "tests/plugin.rs");

const CHAINED: Files = files!("chained": "src/lib.rs", "src/main.rs", "src/records.rs", "tests/plugin.rs");

const IPAM: Files = files!("ipam": "src/lib.rs", "src/main.rs", "src/store.rs", "tests/plugin.rs");

impl Kind {
    #[cfg(test)]
    pub(super) const ALL: [Self; 3] = [Self::Interface, Self::Chained, Self::Ipam];

    fn files(self) -> Files {
        match self {
            Self::Interface => INTERFACE,
            Self::Chained => CHAINED,
            Self::Ipam => IPAM,
        }
    }
}

/// The files of a new crate, with their paths in it.
pub(super) fn files(kind: Kind, name: &Name, sdk: Option<&Path>) -> Vec<(PathBuf, String)> {
    let filled = |(path, text): &(&str, &str)| {
        let text = named(text, name);
        let text = if *path == "Cargo.toml" { manifest(&text, sdk) } else { text };
        (named(path, name).into(), text)
    };
    kind.files().iter().map(filled).collect()
}

/// The manifest with its dependency on the SDK, in this version of it.
fn manifest(text: &str, sdk: Option<&Path>) -> String {
    // Before 1.0, the second number is the one that stands for compatibility.
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let (plain, source) = match sdk {
        None => (format!("{version:?}"), format!("version = {version:?}")),
        Some(dir) => {
            // A string of JSON is one of TOML.
            let dir = serde_json::json!(dir.join("cni-skel").to_string_lossy());
            (format!("{{ path = {dir} }}"), format!("path = {dir}"))
        }
    };
    text.replace("@CNI_SKEL@", &format!("cni-skel = {plain}"))
        .replace("@CONFORMANCE@", &format!("cni-skel = {{ {source}, features = [\"conformance\"] }}"))
        .replace("@RUST@", env!("CARGO_PKG_RUST_VERSION"))
}

/// A text of a template for a plugin of another name. In one go: the new name may look like one of the old ones.
fn named(text: &str, name: &Name) -> String {
    let names = [("my-plugin", &name.plugin), ("my_plugin", &name.snake), ("MyPlugin", &name.camel)];
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some((old, new)) = names.iter().find(|(old, _)| rest.starts_with(old)) {
            named.push_str(new);
            rest = &rest[old.len()..];
        } else {
            named.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    named
}

/// The crates that the new one will depend on.
pub(super) fn dependencies(kind: Kind) -> impl Iterator<Item = &'static str> {
    let manifest = kind.files().iter().find(|(path, _)| *path == "Cargo.toml").map_or("", |(_, text)| text);
    let tables = manifest.split("dependencies]\n").skip(1);
    let lines = tables.flat_map(|table| table.lines().take_while(|line| !line.is_empty()));
    lines.filter_map(|line| line.split_once(" = ").map(|(name, _)| name)).chain(["cni-skel"])
}

/// Whether the code of a template has a word.
pub(super) fn has_word(kind: Kind, word: &str) -> bool {
    let is_code = |(path, _): &&(&str, &str)| path.starts_with("src/") || path.starts_with("tests/");
    let is_separator = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    let mut words = kind.files().iter().filter(is_code).flat_map(|(_, text)| text.split(is_separator));
    word != "MyPlugin" && words.any(|found| found == word)
}
