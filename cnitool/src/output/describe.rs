//! What a plugin says of itself.

use std::fmt::Write as _;
use std::path::Path;

use libcni::cni_invoke::DescribeError;
use libcni::cni_types::{Handling, PluginDescription};
use serde::Serialize;

use super::error::with_causes;
use super::table::table;
use super::{Report, Style, pretty, printable};
use crate::cmd::Described;
use crate::lint::{Key, keys_of};

impl Report for Described {
    // Of keys, not of values.
    const QUOTES: bool = false;

    fn text(&self, style: Style) -> String {
        let mut text = match self.description() {
            Some(description) => title(description, style),
            None => format!("{}\n", style.bold(self.plugin.as_str())),
        };
        let _ = writeln!(text, "program:       {}", printable(&self.program.display().to_string()));
        match &self.info {
            Ok(info) => {
                let _ = writeln!(text, "spec versions: {}", printable(&info.supported_versions.join(" ")));
            }
            Err(error) => {
                let _ = writeln!(text, "{} {}", style.red("error:"), printable(&with_causes(error)));
            }
        }
        match &self.said {
            Some(Ok(description)) => text.push_str(&details(description, self.plugin.as_str(), style)),
            Some(Err(error)) => {
                let _ = writeln!(
                    text,
                    "\nIt does not describe itself; only VERSION was asked. {}.",
                    reason(error)
                );
            }
            None => {}
        }
        text
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Json<'a> {
            #[serde(rename = "type")]
            plugin: &'a str,
            program: &'a Path,
            #[serde(skip_serializing_if = "Option::is_none")]
            supported_versions: Option<&'a [String]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<String>,
            /// As the plugin printed it.
            description: Option<&'a PluginDescription>,
            #[serde(skip_serializing_if = "Option::is_none")]
            not_described: Option<String>,
        }
        pretty(&Json {
            plugin: self.plugin.as_str(),
            program: &self.program,
            supported_versions: self.info.as_ref().ok().map(|info| &info.supported_versions[..]),
            error: self.info.as_ref().err().map(|error| with_causes(error)),
            description: self.description(),
            not_described: self.said.as_ref().and_then(|said| said.as_ref().err()).map(|it| with_causes(it)),
        })
    }
}

impl Described {
    fn description(&self) -> Option<&PluginDescription> {
        self.said.as_ref()?.as_ref().ok().map(|description| &**description)
    }
}

/// Why a plugin is not described, as a sentence without its full stop.
fn reason(error: &DescribeError) -> String {
    let text = printable(&with_causes(error));
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// Who the plugin is.
fn title(description: &PluginDescription, style: Style) -> String {
    let mut title = printable(&description.name);
    if !description.version.is_empty() {
        let _ = write!(title, " {}", printable(&description.version));
    }
    let mut line = style.bold(&title);
    if !description.about.is_empty() {
        let _ = write!(line, ": {}", printable(&description.about));
    }
    line + "\n"
}

/// What it does and takes.
fn details(description: &PluginDescription, plugin: &str, style: Style) -> String {
    let mut text = String::new();
    for (title, names) in
        [("capabilities:  ", &description.capabilities), ("CNI_ARGS:      ", &description.arguments)]
    {
        if !names.is_empty() {
            let _ = writeln!(text, "{title}{}", printable(&names.join(" ")));
        }
    }
    if description.name != plugin {
        let name = printable(&description.name);
        let _ = writeln!(text, "note:          it is made to be called {name:?}");
    }
    let commands: Vec<_> = description
        .commands
        .iter()
        .map(|(command, handling)| {
            let words = match handling {
                Handling::Handled => "handled",
                Handling::NoOp => "succeeds without action",
                _ => "not told",
            };
            [printable(command), words.to_owned()]
        })
        .collect();
    if !commands.is_empty() {
        let _ = write!(text, "\n{}", table(["COMMAND", "WHAT IT DOES"], &commands, style));
    }
    let keys = description.config_schema.as_ref().map(keys_of).unwrap_or_default();
    if !keys.is_empty() {
        let _ = write!(text, "\n{}", key_table(&keys, style));
    }
    if description.denies_unknown_keys {
        text.push_str("Any other key is an error.\n");
    }
    text
}

fn key_table(keys: &[Key], style: Style) -> String {
    let words = |key: &Key| {
        let required = if key.is_required { ", required" } else { "" };
        format!("{}{required}", printable(&key.words)).trim_start_matches(", ").to_owned()
    };
    let rows: Vec<_> =
        keys.iter().map(|key| [printable(&key.path), words(key), printable(&key.about)]).collect();
    table(
        ["KEY", "VALUE", if keys.iter().any(|key| !key.about.is_empty()) { "ABOUT" } else { "" }],
        &rows,
        style,
    )
}
