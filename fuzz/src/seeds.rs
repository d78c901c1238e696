//! Where fuzzing starts: the inputs of the recorded cases in `tests/vectors/`, and a few by hand in `seeds/`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A longer one slows its target down for nothing.
const MAX_BYTES: usize = 4096;

/// Makes a folder for each target in a directory, with a file for each of its seeds.
///
/// # Errors
///
/// When the recorded cases cannot be read, or the files not be written.
pub fn write(dir: &Path) -> io::Result<()> {
    for (target, _) in crate::TARGETS {
        let folder = dir.join(target);
        fs::create_dir_all(&folder)?;
        for (number, seed) in of(target)?.into_iter().enumerate() {
            fs::write(folder.join(format!("{number:04}")), seed)?;
        }
    }
    Ok(())
}

/// The seeds of a target, each once.
///
/// # Errors
///
/// When the recorded cases cannot be read.
pub fn of(target: &str) -> io::Result<BTreeSet<Vec<u8>>> {
    let mut seeds = by_hand(target)?;
    let files: &[&str] = match target {
        "cache" => &["libcni_exec"],
        "cni_args" => &["cni_args"],
        "conflist" => &["conflist", "libcni_exec"],
        "convert" | "result" => &["results_parse", "results_convert"],
        "dispatch" => &["skel_dispatch"],
        "error_object" => &["plugin_err", "versions"],
        "plugin_config" => &["prev_result", "conflist", "skel_dispatch"],
        // There are no recorded cases of these.
        _ => &[],
    };
    for file in files {
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(vectors().join(format!("{file}.json")))?)?;
        seeds.extend(cases.iter().flat_map(|case| from_case(target, &case["input"])));
    }
    seeds.retain(|seed| !seed.is_empty() && seed.len() <= MAX_BYTES);
    Ok(seeds)
}

fn from_case(target: &str, input: &Value) -> Vec<Vec<u8>> {
    let text = |key: &str| input[key].as_str().map(|text| text.as_bytes().to_vec());
    let texts_of = |key: &str| -> Vec<Vec<u8>> {
        let entries = input[key].as_object().into_iter().flat_map(|entries| entries.values());
        entries.filter_map(Value::as_str).map(|text| text.as_bytes().to_vec()).collect()
    };
    match target {
        "cache" => texts_of("cache_before"),
        "cni_args" => text("args").into_iter().collect(),
        "conflist" => text("conf").into_iter().chain(texts_of("files")).collect(),
        "convert" | "result" => text("json").into_iter().collect(),
        "dispatch" => call(input).into_iter().collect(),
        "error_object" => text("stdout").or_else(|| text("reply")).into_iter().collect(),
        _ => text("conf").or_else(|| text("stdin")).into_iter().collect(),
    }
}

/// A call in the form of the target `dispatch`.
fn call(input: &Value) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (name, value) in input["env"].as_object()? {
        bytes.extend_from_slice(format!("{name}={}\0", value.as_str()?).as_bytes());
    }
    bytes.push(0);
    bytes.extend_from_slice(input["stdin"].as_str().unwrap_or_default().as_bytes());
    Some(bytes)
}

fn by_hand(target: &str) -> io::Result<BTreeSet<Vec<u8>>> {
    match fs::read_dir(here().join("seeds").join(target)) {
        Ok(entries) => entries.map(|entry| fs::read(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn vectors() -> PathBuf {
    here().join("../tests/vectors")
}
