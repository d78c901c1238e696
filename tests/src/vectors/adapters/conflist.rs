//! `conflist`: networks from text, files and folders.
//!
//! What Go's loader leaves for later has no place in the common form: `marshalled` is Go's way of printing a struct, and
//! whether a slice is nil is nobody's business. An absent `cniVersion` stands as what it means, 0.1.0.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cni_types::config::{NetworkList, PluginConfig};
use libcni::{LoadError, Network, Plugin, Problem, conf_files};

use super::{error, ok, simple};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Loads what the case names.
#[derive(Debug)]
pub struct Conflist;

impl Adapter for Conflist {
    fn expected(&self, case: &Case, expect: &Json) -> Json {
        let go = simple(expect, &["as_list"], &["error_type"]);
        let Some(Json::Object(fields)) = go.field("ok") else { return go };
        let sorted = |value: &Json| without(value, &["marshalled"]);
        let mut fields: Vec<_> = fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
        // A list of this text alone has it for its bytes.
        if case.text("func") == Some("ConfFromBytes") {
            for (key, value) in &mut fields {
                if key == "as_list" {
                    *value = without(value, &["bytes"]);
                }
            }
        }
        ok(fields)
    }

    fn answer(&self, case: &Case) -> Answer {
        let text = case.bytes("conf").unwrap_or_default();
        let loaded = match case.text("func").unwrap_or_default() {
            "NetworkConfFromBytes" => Network::from_list(&text).map(|network| {
                let mut value = list(&network);
                push(&mut value, "bytes_equal_input", Json::Bool(network.bytes() == text));
                ok([("value", value)])
            }),
            "ConfFromBytes" => Network::from_plugin(&text).map(|network| {
                let value = network.plugins().first().map_or(Json::Null, single);
                ok([("value", value), ("as_list", list(&network))])
            }),
            "LoadConf" => {
                return Answer::NoCounterpart("a plugin is loaded as a network, by Network::load".to_owned());
            }
            _ => return in_folder(case),
        };
        Answer::Given(loaded.unwrap_or_else(|problems| faulty(&problems)))
    }

    fn source(&self, case: &Case) -> Option<Json> {
        if let Some(text) = case.text("conf") {
            return Json::parse_tolerantly(text).ok();
        }
        let files = case.input.field("files")?.as_object()?;
        let documents = files.iter().filter_map(|(_, text)| Json::parse_tolerantly(text.as_str()?).ok());
        Some(Json::Array(documents.collect()))
    }
}

/// A value without some fields at its top, with an absent version as what it means, and without empty values.
fn without(value: &Json, names: &[&str]) -> Json {
    match value {
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .filter(|(key, _)| !names.contains(&key.as_str()))
                .map(|(key, value)| match (key.as_str(), value) {
                    ("cniVersion", Json::String(version)) if version.is_empty() => {
                        (key.clone(), Json::string("0.1.0"))
                    }
                    ("plugins", Json::Array(plugins)) => {
                        let plugins = plugins.iter().map(|plugin| without(plugin, &[])).collect();
                        (key.clone(), Json::Array(plugins))
                    }
                    _ => (key.clone(), value.clone()),
                })
                .collect(),
        ),
        Json::Array(items) => Json::Array(items.iter().map(|item| without(item, names)).collect()),
        other => other.clone(),
    }
}

fn push(object: &mut Json, key: &str, value: Json) {
    if let Json::Object(fields) = object {
        fields.push((key.to_owned(), value));
    }
}

fn faulty(problems: &[Problem]) -> Json {
    let text: Vec<_> = problems.iter().map(ToString::to_string).collect();
    error(text.join("; "), Vec::<(String, Json)>::new())
}

/// A network as the format shows it.
fn list(network: &Network) -> Json {
    let flags = NetworkList::decode(network.bytes()).unwrap_or_default();
    Json::object([
        ("name", Json::string(network.name().as_str())),
        ("cniVersion", Json::string(version(network))),
        ("disableCheck", Json::Bool(network.disable_check())),
        ("disableGC", Json::Bool(network.disable_gc())),
        ("loadOnlyInlinedPlugins", Json::Bool(flags.load_only_inlined_plugins)),
        ("plugins", Json::Array(network.plugins().iter().map(plugin).collect())),
    ])
}

fn version(network: &Network) -> String {
    network.version().map_or_else(|error| error.to_string(), |version| version.to_string())
}

/// A plugin of a list.
fn plugin(plugin: &Plugin) -> Json {
    let mut value = keys(plugin.config());
    push(&mut value, "bytes", printed(plugin.object()));
    value
}

/// A plugin that was loaded by itself.
fn single(plugin: &Plugin) -> Json {
    let config = plugin.config();
    let raw = |raw: &cni_types::RawJson| Json::parse_tolerantly(raw.as_str()).unwrap_or(Json::Null);
    let attachments = config.valid_attachments().ok().flatten();
    let mut value = keys(config);
    push(&mut value, "prev_result_raw", config.prev_result.as_ref().map_or(Json::Null, raw));
    push(&mut value, "valid_attachments", printed(&attachments));
    value
}

fn keys(config: &PluginConfig) -> Json {
    let text = |value: &Option<String>| Json::string(value.clone().unwrap_or_default());
    Json::object([
        ("type", text(&config.plugin_type)),
        ("name", text(&config.name)),
        ("cniVersion", Json::string(config.cni_version.as_deref().unwrap_or("0.1.0"))),
        ("ipam_type", Json::string(config.ipam_type().unwrap_or_default())),
        ("capabilities", printed(&config.capabilities)),
        ("dns", printed(&config.dns)),
    ])
}

fn printed(value: &impl serde::Serialize) -> Json {
    let text = serde_json::to_string(value).unwrap_or_else(|why| panic!("cannot print: {why}"));
    Json::parse_tolerantly(&text).unwrap_or_else(|why| panic!("printed no JSON: {why}: {text}"))
}

/// Loads from a folder that is made as the case describes.
fn in_folder(case: &Case) -> Answer {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("cannot make a directory: {error}"));
    let dir = folder.path().join("net.d");
    if let Err(error) = make_files(case, &dir) {
        panic!("cannot make the files: {error}");
    }
    let place = dir.to_string_lossy().into_owned();
    let name = case.text("name").unwrap_or_default();
    let loaded = match case.text("func").unwrap_or_default() {
        "LoadNetworkConf" => Network::load(&dir, name).map(|network| {
            let mut value = list(&network);
            push(
                &mut value,
                "bytes",
                Json::parse_tolerantly(&String::from_utf8_lossy(network.bytes())).unwrap_or(Json::Null),
            );
            ok([("value", value)])
        }),
        "NetworkPluginConfsFromFiles" => Network::load(&dir, name).map(|network| {
            let dropped = network.plugins().iter().filter(|plugin| plugin.file().is_some());
            ok([("value", Json::Array(dropped.map(plugin).collect()))])
        }),
        "NetworkConfFromFile" => match Network::from_file(dir.join(case.text("file").unwrap_or_default())) {
            Ok(network) => {
                let mut value = list(&network);
                push(
                    &mut value,
                    "bytes",
                    Json::parse_tolerantly(&String::from_utf8_lossy(network.bytes())).unwrap_or(Json::Null),
                );
                Ok(ok([("value", value)]))
            }
            Err(problems) => return given(faulty(&problems), &place),
        },
        "ConfFiles" => {
            let extensions = case.input.field("extensions").and_then(Json::as_array).unwrap_or_default();
            let extensions: Vec<_> = extensions.iter().filter_map(Json::as_str).collect();
            match conf_files(&dir, &extensions) {
                Ok(files) => {
                    let names = files.iter().filter_map(|path| path.file_name());
                    Ok(ok([(
                        "value",
                        Json::Array(names.map(|name| Json::string(name.to_string_lossy())).collect()),
                    )]))
                }
                Err(why) => return given(error(why, Vec::<(String, Json)>::new()), &place),
            }
        }
        other => panic!("unknown function {other:?}"),
    };
    given(loaded.unwrap_or_else(|why| not_loaded(&why)), &place)
}

/// An answer with the folder's name as the expectation has it.
fn given(answer: Json, place: &str) -> Answer {
    Answer::Given(answer.map_strings(&|text| text.replace(place, "${DIR}")))
}

fn not_loaded(why: &LoadError) -> Json {
    let kind = match why {
        LoadError::NoConfigs { .. } => Some("NoConfigsFoundError"),
        LoadError::NotFound { .. } => Some("NotFoundError"),
        _ => None,
    };
    error(why, kind.map(|kind| ("error_type", Json::string(kind))))
}

/// Makes the folder: a name that ends in `/` is a directory, a content `->x` a link to x; no files at all, no folder.
fn make_files(case: &Case, dir: &Path) -> std::io::Result<()> {
    let Some(Json::Object(files)) = case.input.field("files") else { return Ok(()) };
    fs::create_dir_all(dir)?;
    for (name, content) in files {
        let path = dir.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(&path)?;
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        let content = content.as_str().unwrap_or_default();
        match content.strip_prefix("->") {
            Some(target) => symlink(target, &path)?,
            None => fs::write(&path, content)?,
        }
    }
    Ok(())
}
