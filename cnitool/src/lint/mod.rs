//! What the descriptions of plugins say of a configuration, before anything is run.
//!
//! An error is only what would surely fail. A warning is what surely has no effect, or is very like a name that would
//! have one; what a plugin that does not describe itself may know is left alone.
//!
//! | module | what it decides |
//! | --- | --- |
//! | `document` | where in the file a key stands |
//! | `schema` | what a schema allows |
//! | `keys` | which keys are known, and whether their values fit |
//! | `capabilities` | whether what is asked for is taken |
//! | `suggest` | which name was meant |

mod capabilities;
mod document;
mod keys;
mod schema;
mod suggest;
mod tree;

pub(crate) use document::{Document, Excerpt};
pub(crate) use tree::{Key, keys_of};

use std::path::PathBuf;

use libcni::cni_types::config::{ListedPlugin, MAX_PLUGINS};
use libcni::cni_types::{CniVersion, Command, Handling, PluginDescription, PluginType};
use serde_json::Value as Json;

use self::document::Node;

/// How many errors, and how many warnings, are told of one file.
const MOST: usize = 200;
const LAST: usize = MOST - 1;

/// Something that is to be told of a place in a file.
#[derive(Debug)]
pub(crate) struct Remark {
    /// Whether it would surely fail.
    pub(crate) is_error: bool,
    /// A word that programs can tell remarks apart by.
    pub(crate) kind: &'static str,
    pub(crate) file: PathBuf,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The path to the key.
    pub(crate) path: String,
    pub(crate) message: String,
    /// What was meant.
    pub(crate) suggestion: Option<String>,
    pub(crate) excerpt: Option<Excerpt>,
}

/// A plugin that reads a configuration, or a part of it.
#[derive(Clone, Copy, Debug)]
struct Reader<'a> {
    plugin: &'a PluginType,
    /// `None` for a plugin that says nothing of itself.
    description: Option<&'a PluginDescription>,
}

impl<'a> Reader<'a> {
    fn schema(self) -> Option<&'a Json> {
        self.description?.config_schema.as_ref()
    }
}

/// Knows plugins, by type.
pub(crate) type Describe<'a> = &'a dyn Fn(&str) -> Option<&'a PluginDescription>;

/// All that is to be told of a list's text.
pub(crate) fn list(document: &Document, describe: Describe<'_>) -> Vec<Remark> {
    let mut remarks = Remarks { document, all: Vec::new() };
    keys::of_list(&mut remarks, document.root());
    let plugins = document.root().find("plugins").map(Node::elements).unwrap_or_default();
    // That there are too many has been told by whoever loads the file.
    for (index, plugin) in plugins.into_iter().take(MAX_PLUGINS).enumerate() {
        one(&mut remarks, plugin, &format!("plugins[{index}]"), describe);
    }
    remarks.sorted()
}

/// All that is to be told of the text of a single plugin's configuration.
pub(crate) fn single(document: &Document, describe: Describe<'_>) -> Vec<Remark> {
    let mut remarks = Remarks { document, all: Vec::new() };
    one(&mut remarks, document.root(), "", describe);
    remarks.sorted()
}

fn one(remarks: &mut Remarks<'_>, node: Node<'_>, path: &str, describe: Describe<'_>) {
    // What is no configuration at all has been told by whoever loads the file.
    let Ok(listed) = ListedPlugin::decode(node.raw.as_bytes()) else { return };
    let config = listed.config();
    let Ok(plugin) = config.plugin_type() else { return };
    let ipam = config.ipam_type().and_then(|ipam| PluginType::new(ipam).ok());
    let main = Reader { plugin: &plugin, description: describe(plugin.as_str()) };
    let ipam = ipam.as_ref().map(|plugin| Reader { plugin, description: describe(plugin.as_str()) });
    keys::of_plugin(remarks, node, path, main, ipam);
    capabilities::of_plugin(remarks, node, path, main, ipam);
}

/// The commands that a runtime may run on a network of a version, and for which plugins only succeed.
pub(crate) fn idle(
    version: CniVersion,
    disabled: impl Fn(Command) -> bool,
    plugins: &[(&PluginType, &PluginDescription)],
) -> Vec<(Command, Vec<PluginType>)> {
    [Command::Check, Command::Gc, Command::Status]
        .into_iter()
        .filter(|command| command.exists_in(version) && !disabled(*command))
        .map(|command| {
            let idle = plugins.iter().filter(|(_, it)| it.handling(command) == Handling::NoOp);
            (command, idle.map(|(plugin, _)| (*plugin).clone()).collect::<Vec<_>>())
        })
        .filter(|(_, plugins)| !plugins.is_empty())
        .collect()
}

/// What is gathered about one document.
struct Remarks<'d> {
    document: &'d Document,
    all: Vec<Remark>,
}

/// A place in a document: a byte, and the path to the key.
#[derive(Clone, Copy)]
struct Place<'p> {
    at: usize,
    path: &'p str,
}

impl Remarks<'_> {
    /// Whether another warning would not be told.
    fn has_warned_enough(&self) -> bool {
        self.count(false) >= MOST
    }

    fn count(&self, is_error: bool) -> usize {
        self.all.iter().filter(|remark| remark.is_error == is_error).count()
    }

    fn error(&mut self, kind: &'static str, place: Place<'_>, message: String, suggestion: Option<String>) {
        self.tell(true, kind, place, message, suggestion);
    }

    fn warn(&mut self, kind: &'static str, place: Place<'_>, message: String, suggestion: Option<String>) {
        self.tell(false, kind, place, message, suggestion);
    }

    fn tell(
        &mut self,
        is_error: bool,
        kind: &'static str,
        Place { at, path }: Place<'_>,
        message: String,
        suggestion: Option<String>,
    ) {
        let message = match self.count(is_error) {
            MOST.. => return,
            LAST => message + " (no more is told)",
            _ => message,
        };
        let (line, column) = self.document.place(at);
        self.all.push(Remark {
            is_error,
            kind,
            file: self.document.file.clone(),
            line,
            column,
            path: path.to_owned(),
            message,
            suggestion,
            excerpt: Excerpt::of(self.document.bytes(), line, column),
        });
    }

    /// In the order of the file; errors and warnings apart is the output's business.
    fn sorted(mut self) -> Vec<Remark> {
        self.all.sort_by_key(|remark| (remark.line, remark.column));
        self.all
    }
}

/// The path to a key of an object.
fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests;
