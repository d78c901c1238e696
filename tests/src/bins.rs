//! The plugins that a test puts on its private host: Go's, as the distribution installs them, or this
//! workspace's. Ours are built on demand, so a test never runs a stale binary and needs no build step before
//! it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde::Deserialize;

/// Where Debian's `containernetworking-plugins` puts Go's plugins.
const GO_PLUGINS: &str = "/usr/lib/cni";

/// A plugin binary, by the name that a configuration's `type` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// Go's reference plugin.
    Go(&'static str),
    /// This workspace's plugin.
    Ours(&'static str),
}

impl Plugin {
    /// The value of `type` that finds the plugin.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Go(name) | Self::Ours(name) => name,
        }
    }

    /// Where the binary is on this machine; ours are built first.
    ///
    /// # Errors
    ///
    /// The reason to skip: Go's plugin is not installed.
    ///
    /// # Panics
    ///
    /// If our plugin does not build.
    pub fn path(&self) -> Result<PathBuf, String> {
        match self {
            Self::Go(name) => {
                let path = Path::new(GO_PLUGINS).join(name);
                if path.is_file() { Ok(path) } else { Err(format!("needs Go's plugin {}", path.display())) }
            }
            Self::Ours(name) => Ok(build(name)),
        }
    }
}

/// The path of the workspace's binary `name` (a plugin or `cnitool`), built if it is not up to date.
///
/// `CNI_TEST_BIN_DIR` names a directory of ready-made binaries to take instead, such as a release build for
/// another C library.
///
/// # Panics
///
/// If it does not build.
#[must_use]
pub fn build(name: &str) -> PathBuf {
    if let Some(dir) = std::env::var_os("CNI_TEST_BIN_DIR") {
        return Path::new(&dir).join(name);
    }
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    // One build at a time; a poisoned lock only says that another test's build failed.
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    built.entry(name.to_owned()).or_insert_with(|| cargo_build(name)).clone()
}

/// One line of cargo's `--message-format=json`, as far as it tells where an executable is.
#[derive(Deserialize)]
struct Message {
    reason: String,
    executable: Option<PathBuf>,
}

fn cargo_build(name: &str) -> PathBuf {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // `--workspace`: dependencies get the features that the whole workspace asks for, so they are those already
    // built.
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--quiet",
        "--workspace",
        "--message-format=json-render-diagnostics",
        "--bin",
        name,
    ]);
    command.current_dir(workspace);
    if let Some(target) = target_dir() {
        command.arg("--target-dir").arg(target);
    }
    let output = command.output().expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cannot build the binary `{name}`:\n{errors}");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| message.reason == "compiler-artifact")
        .filter_map(|message| message.executable)
        .next_back()
        .unwrap_or_else(|| panic!("cargo built no binary `{name}`"))
}

/// The target directory that the running test was built in: `<target>/<profile>/deps/<test>`. `None` where it is laid out
/// otherwise.
#[must_use]
pub fn target_dir() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let dir = test.ancestors().nth(3)?;
    dir.join("CACHEDIR.TAG").is_file().then(|| dir.to_owned())
}
