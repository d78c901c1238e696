//! Whether a plugin does what the spec says.

use super::{Report, Style, pretty, printable};

/// What the checks have found out.
#[derive(Debug)]
pub(crate) struct Conformed(pub(crate) cni_conformance::Report);

impl Report for Conformed {
    fn text(&self, style: Style) -> String {
        // What the plugin has printed stands in it.
        self.0.to_string().lines().map(|line| format!("{}\n", painted(&printable(line), style))).collect()
    }

    fn json(&self) -> String {
        pretty(&self.0)
    }
}

/// A line of the table with its first word in colour.
fn painted(line: &str, style: Style) -> String {
    let word = |word: &str, paint: fn(Style, &str) -> String| {
        line.strip_prefix(word).filter(|rest| rest.starts_with(' ')).map(|rest| paint(style, word) + rest)
    };
    let painted = word("ok", Style::green).or_else(|| word("FAILED", Style::red));
    painted.or_else(|| word("skipped", Style::yellow)).unwrap_or_else(|| line.to_owned())
}
