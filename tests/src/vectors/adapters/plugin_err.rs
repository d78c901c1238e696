//! `plugin_err`: real processes run by `cni-invoke`: exit statuses, signals, garbage, faults at start; and finding plugins.
//!
//! The plugin is a shell script. Effects: `stderr`, what was passed on of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cni_invoke::{Environment, Error, ProcessExec, Request, SearchPath, find_plugin};
use cni_types::{ErrorObject, PluginType, VersionedResult};

use super::{error, ok};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Runs the script of a case, or looks for a plugin.
#[derive(Debug)]
pub struct PluginErr;

impl Adapter for PluginErr {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        if let Some(panic) = expect.field("panic") {
            return Json::object([("panic", panic.clone())]);
        }
        let mut go = match expect.field("error") {
            // Looking for a plugin gives a bare message.
            Some(Json::String(message)) => error(message, Vec::<(String, Json)>::new()),
            Some(failure) => match failure.field("cni") {
                Some(object @ Json::Object(_)) => {
                    let text = |key: &str| object.field(key).and_then(Json::as_str).unwrap_or_default();
                    let mut fields = vec![("code", object.field("code").cloned().unwrap_or(Json::Null))];
                    if !text("details").is_empty() {
                        fields.push(("details", Json::string(text("details"))));
                    }
                    error(text("msg"), fields)
                }
                _ => {
                    let message = failure.field("message").and_then(Json::as_str).unwrap_or_default();
                    error(message, Vec::<(String, Json)>::new())
                }
            },
            None => {
                let mut fields = vec![("value", expect.field("ok").cloned().unwrap_or(Json::Null))];
                fields.extend(expect.field("ok_version").map(|version| ("version", version.clone())));
                ok(fields)
            }
        };
        let forwarded = case_text(expect, "stderr_forwarded");
        if let (Json::Object(fields), Some(forwarded)) = (&mut go, forwarded) {
            fields.push(("stderr".to_owned(), Json::string(forwarded)));
        }
        go
    }

    fn answer(&self, case: &Case) -> Answer {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("cannot make a directory: {error}"));
        let tmp = folder.path().to_string_lossy().into_owned();
        let case = case.clone().with_placeholder("TMP", &tmp);
        let ours = if case.text("api") == Some("FindInPath") {
            find(&case, folder.path())
        } else {
            run(&case, folder.path())
        };
        Answer::Given(ours.map_strings(&|text| text.replace(&tmp, "${TMP}")))
    }

    /// `conf`, `stdout` and `stderr` of the input, the first two as documents where they are such.
    fn source(&self, case: &Case) -> Option<Json> {
        let document = |key: &str| Some((key.to_owned(), Json::parse_last_wins(case.text(key)?).ok()?));
        let mut fields: Vec<_> = ["conf", "stdout"].into_iter().filter_map(document).collect();
        fields.extend(case_text(&case.input, "stderr").map(|text| ("stderr".to_owned(), Json::string(text))));
        Some(Json::Object(fields))
    }
}

/// The text at a key, with what is no UTF-8 replaced.
fn case_text(object: &Json, key: &str) -> Option<String> {
    if let Some(text) = object.field(key) {
        return text.as_str().map(str::to_owned);
    }
    let bytes = crate::vectors::case::decode_base64(object.field(&format!("{key}_b64"))?.as_str()?)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn run(case: &Case, tmp: &Path) -> Json {
    if let Err(error) = make_plugin(case, tmp) {
        panic!("cannot make the plugin: {error}");
    }
    let forwarded = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&forwarded);
    let exec = ProcessExec::new().with_stderr(move |part| {
        sink.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend_from_slice(part);
    });
    let plugin = PluginType::new("plugin").unwrap_or_else(|error| panic!("{error}"));
    let environment: Environment = [("CNI_PATH", tmp.as_os_str())].into_iter().collect();
    let config = config(case);
    let request = Request::new(&plugin, &environment, &config);
    let answer = match case.text("api").unwrap_or_default() {
        "ExecPluginWithResult" => cni_invoke::add(&exec, &request).map(|result| printed(&result)),
        "ExecPluginWithoutResult" | "RawExec" => {
            cni_invoke::del(&exec, &request).map(|()| ok([("value", Json::Bool(true))]))
        }
        "GetVersionInfo" => cni_invoke::version(&exec, &request).map(|info| {
            let versions = info.supported_versions.iter().map(Json::string).collect();
            ok([("value", Json::Array(versions))])
        }),
        other => panic!("unknown api {other:?}"),
    };
    let mut ours = answer.unwrap_or_else(|failure| told(case, &failure));
    if let Json::Object(fields) = &mut ours {
        let forwarded = forwarded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        fields.push(("stderr".to_owned(), Json::string(String::from_utf8_lossy(&forwarded))));
    }
    ours
}

/// What the plugin reads; the format spells a large one out in words.
fn config(case: &Case) -> Vec<u8> {
    match case.text("conf") {
        Some(words) if words.starts_with('(') => {
            let size =
                words.trim_start_matches('(').split(' ').next().and_then(|size| size.parse::<usize>().ok());
            let padding = "x".repeat(size.unwrap_or(1) * 1024 * 1024);
            format!(r#"{{"cniVersion":"1.0.0","name":"n","type":"t","pad":"{padding}"}}"#).into_bytes()
        }
        _ => case.bytes("conf").unwrap_or_default(),
    }
}

fn printed(result: &VersionedResult) -> Json {
    let text = result.to_json();
    let value = Json::parse(&text).unwrap_or_else(|why| panic!("printed no JSON: {why}: {text}"));
    ok([("value", value), ("version", Json::string(result.version().as_str()))])
}

/// The failure as the error object that a plugin or a runtime would pass on.
fn told(case: &Case, failure: &Error) -> Json {
    let object = ErrorObject::from(failure);
    let mut fields = Vec::new();
    // Where Go's error is none of CNI's it has no code to compare with.
    if case.expect.at("error.cni") != Some(&Json::Null) {
        fields.push(("code", Json::number(object.code())));
    }
    if !object.details.is_empty() {
        fields.push(("details", Json::string(&object.details)));
    }
    error(&object.msg, fields)
}

/// Writes `<tmp>/plugin`: a script that does what the case says, or something that cannot be started.
fn make_plugin(case: &Case, tmp: &Path) -> std::io::Result<()> {
    let plugin = tmp.join("plugin");
    let write = |content: &[u8], mode: u32| {
        fs::write(&plugin, content)?;
        fs::set_permissions(&plugin, Permissions::from_mode(mode))
    };
    match case.text("fault") {
        None => {}
        Some("missing") => return Ok(()),
        Some("not-executable") => return write(b"#!/bin/sh\n", 0o644),
        Some("directory") => return fs::create_dir(&plugin),
        Some("bad-interpreter") => return write(b"#!/no/such/interpreter\n", 0o755),
        Some("empty-file") => return write(b"", 0o755),
        Some("binary-garbage") => return write(b"\x7fELF\0\x01garbage\xff\xfe\0", 0o755),
        // A script without its first line is no program to the kernel.
        Some(_) => return write(b"exit 0\n", 0o755),
    }
    fs::write(tmp.join("stdout"), case.bytes("stdout").unwrap_or_default())?;
    fs::write(tmp.join("stderr"), case.bytes("stderr").unwrap_or_default())?;
    let mut script = String::from("#!/bin/sh\n");
    if case.input.field("plugin_reads_stdin") != Some(&Json::Bool(false)) {
        script.push_str("/bin/cat >/dev/null\n");
    }
    let dir = tmp.display();
    script.push_str(&format!("/bin/cat '{dir}/stdout'\n/bin/cat '{dir}/stderr' >&2\n"));
    script.push_str(&match case.text("signal") {
        Some(signal) => format!("kill -{signal} $$\n"),
        None => {
            format!("exit {}\n", case.input.field("exit").map_or_else(|| "0".to_owned(), ToString::to_string))
        }
    });
    write(script.as_bytes(), 0o755)
}

fn find(case: &Case, tmp: &Path) -> Json {
    if let Err(error) = make_tree(case, tmp) {
        panic!("cannot make the tree: {error}");
    }
    let none = Vec::<(String, Json)>::new;
    let plugin = match PluginType::new(case.text("plugin").unwrap_or_default()) {
        Ok(plugin) => plugin,
        Err(why) => return error(why, none()),
    };
    let paths = case.input.field("paths").and_then(Json::as_array).unwrap_or_default();
    let search_path = SearchPath::new(paths.iter().filter_map(Json::as_str).map(PathBuf::from));
    match find_plugin(&plugin, &search_path) {
        Ok(found) => ok([("value", Json::string(found.to_string_lossy()))]),
        Err(why) => error(why, none()),
    }
}

/// Makes the tree that `fixtures` describes.
fn make_tree(case: &Case, tmp: &Path) -> std::io::Result<()> {
    for (name, what) in case.input.field("fixtures").and_then(Json::as_object).unwrap_or_default() {
        let path = tmp.join(name);
        let what = what.as_str().unwrap_or_default();
        fs::create_dir_all(path.parent().unwrap_or(tmp))?;
        match what.split_once(' ').unwrap_or((what, "")) {
            ("directory", _) => fs::create_dir_all(&path)?,
            ("symlink", target) => symlink(target, &path)?,
            ("file", mode) => {
                fs::write(&path, "")?;
                let mode = u32::from_str_radix(mode, 8).map_err(std::io::Error::other)?;
                fs::set_permissions(&path, Permissions::from_mode(mode))?;
            }
            _ => return Err(std::io::Error::other(format!("unknown fixture {what:?}"))),
        }
    }
    Ok(())
}
