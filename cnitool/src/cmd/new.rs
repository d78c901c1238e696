//! `new`: a crate to start a plugin from, with its tests, a configuration and a README.
//!
//! The crates are files under `templates`, one folder a kind, and named `my-plugin` there. What they do is theirs; here is
//! which names a plugin can have, and how a crate comes to be as a whole or not at all.

mod name;
mod template;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use self::name::Name;
use super::Context;
use crate::cli::New;
use crate::failure::{Failure, Fault, Usage};
use crate::output::Created;

pub(crate) use self::name::Unfit;
pub(crate) use self::template::Kind;

pub(super) fn run(args: &New, context: &Context<'_>) -> Result<(), Failure> {
    let usage = |fault| Usage { origin: "NAME", fault };
    let name =
        Name::new(&args.name, args.kind).map_err(|unfit| usage(Fault::Unfit(args.name.clone(), unfit)))?;
    let sdk = args.sdk_path.as_deref().map(sdk).transpose()?;
    let dir = args.path.clone().unwrap_or_else(|| args.name.clone().into());
    let files = template::files(args.kind, &name, sdk.as_deref());
    create(&dir, &files)?;
    context.console.show(&Created { dir: &dir, kind: args.kind, name: &args.name, files: &files })
}

/// Where the SDK is, as the crate's manifest is to have it.
fn sdk(dir: &Path) -> Result<PathBuf, Usage> {
    let usage = |error| Usage { origin: "--sdk-path", fault: Fault::Path(dir.to_owned(), error) };
    let dir = dir.canonicalize().map_err(usage)?;
    if dir.join("cni-skel/Cargo.toml").is_file() {
        return Ok(dir);
    }
    Err(usage(io::Error::other("it has no cni-skel")))
}

/// Writes the files under another name, and then gives the directory its own.
fn create(dir: &Path, files: &[(PathBuf, String)]) -> Result<(), Failure> {
    match fs::symlink_metadata(dir) {
        Ok(_) => return Err(Usage { origin: "--path", fault: Fault::Exists(dir.to_owned()) }.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(Usage { origin: "--path", fault: Fault::Path(dir.to_owned(), error) }.into());
        }
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let new = dir.with_file_name(format!(".{name}.new-{}", std::process::id()));
    let failure = |error| Failure::Write(dir.to_owned(), error);
    fs::create_dir(&new).map_err(failure)?;
    // An empty directory that has come into the way meanwhile is taken; anything else is left alone.
    let written = write(&new, files).and_then(|()| fs::rename(&new, dir));
    if written.is_err() {
        let _ = fs::remove_dir_all(&new);
    }
    written.map_err(failure)
}

fn write(dir: &Path, files: &[(PathBuf, String)]) -> io::Result<()> {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        fs::write(path, text)?;
    }
    Ok(())
}
