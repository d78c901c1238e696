//! The rules of `#[derive(CniPlugin)]`: the name, and which versions there are.

use proc_macro2::Span;
use syn::{Error, LitStr};

use crate::ast::Plugin;
use crate::attr::Versions;
use crate::ctxt::Ctxt;
use crate::spec;

/// What a plugin declares, once it keeps the rules.
pub(crate) struct CheckedPlugin {
    pub(crate) name: String,
    pub(crate) about: String,
    /// Places in the list of released versions, oldest first.
    pub(crate) versions: Vec<usize>,
}

pub(crate) fn plugin(cx: &Ctxt, plugin: &Plugin<'_>) -> CheckedPlugin {
    let name = name(cx, plugin);
    let about = plugin.attrs.about.value().map(LitStr::value);
    let about = about.or_else(|| plugin.doc.clone()).unwrap_or_else(|| format!("CNI plugin {name}"));
    let versions = match plugin.attrs.versions.value() {
        None => (0..spec::VERSIONS.len()).collect(),
        Some(Versions::Text(text)) => one_or_range(cx, text),
        Some(Versions::List { brackets, items }) => list(cx, *brackets, items),
    };
    CheckedPlugin { name, about, versions }
}

/// No `name`, or one that no file can have: `""`, `".."`, `"bin/hello"`.
fn name(cx: &Ctxt, plugin: &Plugin<'_>) -> String {
    let Some(written) = plugin.attrs.name.value() else {
        if !plugin.attrs.name.is_given() {
            cx.error_at(
                plugin.target.ident,
                "missing the plugin's name: add `#[cni(name = \"…\")]` with the `type` that configurations give",
            );
        }
        return String::new();
    };
    let name = written.value();
    // As `PluginType` has it.
    let problem = match name.as_str() {
        "" => Some("is empty"),
        "." | ".." => Some("is a directory"),
        _ if name.contains(['/', '\\', '\0']) => Some("is a path"),
        _ => None,
    };
    if let Some(problem) = problem {
        cx.error_at(
            written,
            format!("the name {name:?} {problem}: expected the file name of the plugin's binary, such as \"bridge\""),
        );
    }
    name
}

/// `"1.0.0"`, `"0.4.0..=1.0.0"`, `"0.4.0.."`, `"..=1.0.0"`.
fn one_or_range(cx: &Ctxt, text: &LitStr) -> Vec<usize> {
    let value = text.value();
    let Some((first, last)) = value.split_once("..") else {
        return released(cx, text, &value).into_iter().collect();
    };
    let first = if first.trim().is_empty() { Some(0) } else { released(cx, text, first.trim()) };
    let last = match last.strip_prefix('=') {
        Some(last) => released(cx, text, last.trim()),
        None if last.trim().is_empty() => Some(spec::VERSIONS.len() - 1),
        // `"0.4.0..1.1.0"`: in Rust that leaves 1.1.0 out, which hardly anyone means here.
        None => {
            let inclusive = value.replace("..", "..=");
            cx.error_at(text, format!("a range with an end includes it: write \"{inclusive}\""));
            None
        }
    };
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    if first > last {
        let [first, last] = [first, last].map(|at| spec::VERSIONS[at].0);
        cx.error_at(text, format!("the range is reversed: write \"{last}..={first}\""));
    }
    (first..=last).collect()
}

/// `["0.4.0", "1.0.0"]`
fn list(cx: &Ctxt, brackets: Span, items: &[LitStr]) -> Vec<usize> {
    if items.is_empty() {
        cx.error(Error::new(
            brackets,
            "a plugin supports at least one version: leave `versions` out for all of them",
        ));
    }
    let mut versions: Vec<usize> = Vec::new();
    for item in items {
        let value = item.value();
        let Some(at) = released(cx, item, &value) else { continue };
        match versions.last() {
            _ if versions.contains(&at) => cx.error_at(item, format!("{value} is listed twice")),
            Some(&before) if before > at => {
                cx.error_at(
                    item,
                    format!("{value} is older than {}: list the oldest first", spec::VERSIONS[before].0),
                );
            }
            _ => versions.push(at),
        }
    }
    versions
}

/// A version that was never released: `"1.3.0"`, `"2.0.0"`, `"1.0"`, `"latest"`.
fn released(cx: &Ctxt, written: &LitStr, version: &str) -> Option<usize> {
    let found = spec::VERSIONS.iter().position(|(released, _)| *released == version);
    if found.is_none() {
        let problem = match three_numbers(version) {
            None => format!("{version:?} is not a version of the CNI spec"),
            // Go's library is numbered apart from the spec, and its latest releases are 1.x.
            Some([0 | 1, ..]) => {
                format!("{version} is a release number of Go's CNI library, not a version of the CNI spec")
            }
            Some(_) => format!("{version} is not a released version of the CNI spec"),
        };
        let released = spec::VERSIONS.map(|(version, _)| version).join(", ");
        cx.error_at(written, format!("{problem}; expected one of {released}"));
    }
    found
}

fn three_numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}
