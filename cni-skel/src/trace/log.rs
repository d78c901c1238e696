//! Where the log of a plugin's process goes and how much of it: two keys of the configuration.
//!
//! A log never costs a container its network: a key that cannot be followed is told on stderr, which is then where the
//! log goes. stdout is not to be had.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::types::config::PluginConfig;

/// The key of the file, which is created or appended to. stderr without it.
pub(crate) const LOG_FILE: &str = "logFile";

/// The key of the level.
pub(crate) const LOG_LEVEL: &str = "logLevel";

/// The level where the configuration names none.
const DEFAULT_LEVEL: LevelFilter = LevelFilter::INFO;

/// Listens to the process's spans and events, unless the author has set up somebody who does.
pub(super) fn set_up(config: &PluginConfig, notes: &mut String) {
    if tracing::dispatcher::has_been_set() {
        return;
    }
    let level = read(config, LOG_LEVEL, level, notes).unwrap_or_else(|| all_at(DEFAULT_LEVEL));
    let writer = match read(config, LOG_FILE, open, notes) {
        Some(file) => BoxMakeWriter::new(Arc::new(file)),
        None => BoxMakeWriter::new(io::stderr),
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(writer)
        // It would say on stderr that stderr is closed, and panic.
        .log_internal_errors(false);
    // Somebody was quicker: then it is theirs.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(level).with(layer));
}

/// The value of a key, if it is there and can be followed.
fn read<T>(
    config: &PluginConfig,
    key: &str,
    follow: impl FnOnce(&str) -> Result<T, String>,
    notes: &mut String,
) -> Option<T> {
    let other_case = || config.extra.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
    let value = config.extra.find(key).or_else(|| other_case().map(|(_, value)| value))?;
    let followed = match value.decode::<Option<String>>() {
        Ok(text) => follow(&text.filter(|text| !text.is_empty())?),
        Err(_) => Err(format!("{value} is no text")),
    };
    followed.map_err(|fault| notes.push_str(&format!("ignoring {key}: {fault}\n"))).ok()
}

/// A level for everything, or one for each of several targets.
fn level(text: &str) -> Result<Targets, String> {
    // One word alone would be taken for a target.
    let level = if text.contains(['=', ',']) {
        text.parse().ok()
    } else {
        text.trim().parse::<LevelFilter>().ok().map(all_at)
    };
    level.ok_or_else(|| {
        format!(
            "{text:?} is no level, expected off, error, warn, info, debug or trace, or such as \"info,my_plugin=trace\""
        )
    })
}

fn all_at(level: LevelFilter) -> Targets {
    Targets::new().with_default(level)
}

/// The file, to append to. Each event is written at once, so that plugins may share it.
fn open(path: &str) -> Result<File, String> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(format!("{path:?} is relative, expected an absolute path"));
    }
    // Opening a FIFO would wait for its reader.
    if let Ok(found) = fs::metadata(path)
        && !found.is_file()
        && !found.file_type().is_char_device()
    {
        return Err(format!("{path:?} is no regular file"));
    }
    // What a plugin logs is for who may read its configuration.
    let opened = File::options().create(true).append(true).mode(0o600).open(path);
    opened.map_err(|error| format!("cannot open {path:?}: {error}"))
}

/// Adds the keys to the schema of a configuration.
pub(crate) fn add_to_schema(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut().filter(|schema| schema.get("type") == Some(&json!("object")))
    else {
        return;
    };
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    for (key, description) in [
        (LOG_FILE, "The absolute path of the file to append the log to; stderr by default."),
        (LOG_LEVEL, "How much is logged: off, error, warn, info, debug or trace; info by default."),
    ] {
        if let Some(properties) = properties.as_object_mut()
            && !properties.contains_key(key)
        {
            properties
                .insert(key.to_owned(), json!({"type": ["string", "null"], "description": description}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: std::fmt::Debug>(result: Result<T, String>) -> String {
        result.unwrap_err()
    }

    #[test]
    fn a_level_is_one_word_or_several_directives() {
        assert_eq!(level("DEBUG").unwrap(), all_at(LevelFilter::DEBUG));
        assert_eq!(level("off").unwrap(), all_at(LevelFilter::OFF));
        let several = level("warn,my_plugin=trace").unwrap();
        assert!(several.would_enable("my_plugin::store", &tracing::Level::TRACE));
        assert!(!several.would_enable("other", &tracing::Level::INFO));
        insta::assert_snapshot!(said(level("verbose")), @r#""verbose" is no level, expected off, error, warn, info, debug or trace, or such as "info,my_plugin=trace""#);
        insta::assert_snapshot!(said(level("my_plugin=loud")), @r#""my_plugin=loud" is no level, expected off, error, warn, info, debug or trace, or such as "info,my_plugin=trace""#);
    }

    #[test]
    fn a_file_that_cannot_be_had_is_told() {
        insta::assert_snapshot!(said(open("plugin.log")), @r#""plugin.log" is relative, expected an absolute path"#);
        insta::assert_snapshot!(said(open("/")), @r#""/" is no regular file"#);
        insta::assert_snapshot!(said(open("/does/not/exist")), @r#"cannot open "/does/not/exist": No such file or directory (os error 2)"#);
    }

    #[test]
    fn a_file_is_appended_to_and_nobody_elses_to_read() {
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        for line in ["one\n", "two\n"] {
            open(path.to_str().unwrap()).unwrap().write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
        open("/dev/null").unwrap();
    }

    #[test]
    fn keys_are_found_in_any_letter_case_and_faults_are_told() {
        let read = |json: &str| {
            let config = PluginConfig::decode(json.as_bytes()).unwrap();
            let mut notes = String::new();
            (read(&config, LOG_LEVEL, |text| level(text).map(|_| text.to_owned()), &mut notes), notes)
        };
        assert_eq!(read(r#"{"name":"n"}"#), (None, String::new()));
        assert_eq!(read(r#"{"name":"n","logLevel":""}"#), (None, String::new()));
        assert_eq!(read(r#"{"name":"n","logLevel":null}"#), (None, String::new()));
        assert_eq!(read(r#"{"name":"n","loglevel":"debug"}"#), (Some("debug".to_owned()), String::new()));
        assert_eq!(read(r#"{"loglevel":"warn","logLevel":"debug"}"#).0.as_deref(), Some("debug"));
        assert_eq!(read(r#"{"logLevel":3}"#), (None, "ignoring logLevel: 3 is no text\n".to_owned()));
    }

    #[test]
    fn a_schema_has_the_keys_unless_the_plugin_has_its_own() {
        let mut schema = json!({"type": "object", "properties": {"logLevel": {"type": "integer"}}});
        add_to_schema(&mut schema);
        assert_eq!(schema["properties"]["logLevel"], json!({"type": "integer"}));
        assert_eq!(schema["properties"]["logFile"]["type"], json!(["string", "null"]));
        let mut any = json!(true);
        add_to_schema(&mut any);
        assert_eq!(any, true);
    }
}
