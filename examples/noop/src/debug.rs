//! The debug file and the command log, in the form that Go's test suites write and read.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cni_skel::types::RawJson;
use cni_skel::{Result, ResultExt};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The most bytes of such a file.
pub(crate) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What the plugin is to say, and what it was told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[non_exhaustive]
pub struct Debug {
    /// Printed on stdout as it is, be it no JSON. `PASSTHROUGH` and `INJECT-DNS` stand for the `prevResult`.
    pub report_result: String,
    /// The message of the error to fail with.
    pub report_error: String,
    /// The code of the error to fail with; 0 means 999.
    pub report_error_code: u64,
    /// Printed on stderr.
    pub report_stderr: String,
    /// The versions that VERSION reports, and that are enforced.
    pub report_version_support: Option<Vec<String>>,
    /// The exit status; 0 means the usual one.
    pub exit_with_code: i64,
    /// Written back, and not read: the command.
    #[serde(skip_deserializing)]
    pub command: String,
    /// Written back, and not read: environment and stdin.
    #[serde(skip_deserializing)]
    pub cmd_args: CmdArgs,
}

/// What a plugin was called with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[non_exhaustive]
pub struct CmdArgs {
    /// `CNI_CONTAINERID`.
    #[serde(rename = "ContainerID")]
    pub container_id: String,
    /// `CNI_NETNS`.
    pub netns: String,
    /// `CNI_IFNAME`.
    pub if_name: String,
    /// `CNI_ARGS`.
    pub args: String,
    /// `CNI_PATH`.
    pub path: String,
    /// `CNI_NETNS_OVERRIDE`.
    pub netns_override: String,
    /// stdin; base64 in the file.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub stdin_data: Vec<u8>,
}

/// One call in the command log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct LogEntry {
    /// The command.
    pub command: String,
    /// What the plugin was called with.
    pub cmd_args: CmdArgs,
}

impl Debug {
    /// Reads a debug file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = File::open(path).and_then(bounded);
        let text = text.with_context(|| format!("reading debug file {path:?}"))?;
        serde_json::from_str(&text).with_context(|| format!("decoding debug file {path:?}"))
    }

    /// Writes the debug file again, with the call in it.
    pub(crate) fn write_back(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec(self)?;
        // At once: a call that runs at the same time must not read half of it.
        let thread = std::thread::current().id();
        let part = path.with_extension(format!("{}-{thread:?}", std::process::id()));
        let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
        written.with_context(|| format!("writing debug file {path:?}"))
    }
}

impl LogEntry {
    /// Appends the call to a log, which is one JSON array.
    pub(crate) fn append(&self, path: &Path) -> Result<()> {
        let append = || -> io::Result<()> {
            let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
            // Two calls at once must not lose each other's entry.
            file.lock()?;
            let text = bounded(&file)?;
            let mut log: Vec<RawJson> =
                if text.is_empty() { Vec::new() } else { serde_json::from_str(&text)? };
            log.push(RawJson::new(self)?);
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(&serde_json::to_vec(&log)?)
        };
        append().with_context(|| format!("appending to command log {path:?}"))
    }
}

/// All of a file, if it is no larger than anything that a test has written.
fn bounded(file: impl Read) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<u8>, D::Error> {
    // Go writes `null` for no bytes.
    let text: Option<String> = Option::deserialize(deserializer)?;
    STANDARD.decode(text.unwrap_or_default()).map_err(de::Error::custom)
}
