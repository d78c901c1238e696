//! The cache directory of a case, before and after.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::vectors::{case::Case, json::Json};

/// Makes `<dir>/results` as the case has it: a key with a trailing slash is a directory, `../x` lies beside `results`.
pub(super) fn make(case: &Case, dir: &Path) -> std::io::Result<()> {
    let results = dir.join("results");
    if case.input.field("results_is_a_file") == Some(&Json::Bool(true)) {
        return fs::write(results, "");
    }
    let Some(files) = case.input.field("cache_before").and_then(Json::as_object) else { return Ok(()) };
    fs::create_dir_all(&results)?;
    for (name, content) in files {
        let path = results.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(&path)?;
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(&results))?;
        fs::write(&path, content.as_str().unwrap_or_default())?;
    }
    Ok(())
}

/// Texts by name, as documents where they are such: the order of a cache file's keys means nothing.
pub(super) fn as_documents(files: &Json) -> Json {
    let document = |content: &Json| match content.as_str() {
        Some(text) => document(text),
        None => content.clone(),
    };
    Json::object(
        files.as_object().unwrap_or_default().iter().map(|(name, content)| (name.clone(), document(content))),
    )
}

fn document(text: &str) -> Json {
    match Json::parse_tolerantly(text) {
        Ok(document @ Json::Object(_)) => document,
        _ => Json::string(text),
    }
}

/// The files in a directory by name; a directory among them is `null`.
pub(super) fn files(dir: &Path) -> Json {
    let entries = fs::read_dir(dir).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    Json::object(entries.iter().map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            return (name, Json::Null);
        }
        let text = fs::read(entry.path()).unwrap_or_default();
        (name, document(&String::from_utf8_lossy(&text)))
    }))
}

/// The files in a directory itself, without directories.
pub(super) fn top_files(dir: &Path) -> Json {
    let Json::Object(mut found) = files(dir) else { return Json::Null };
    found.retain(|(_, content)| *content != Json::Null);
    Json::Object(found)
}

/// The permissions of a file, as `0600`.
pub(super) fn mode(path: &Path) -> Option<Json> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    Some(Json::string(format!("{:04o}", mode & 0o7777)))
}
