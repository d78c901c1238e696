//! The program and the names of its plugins in a directory: one copy, and a link to it for each name.
//!
//! The links are relative, so that they hold wherever the directory is mounted, and a new release replaces one file: all
//! plugins change at once. Each file is there whole or not at all. Nothing of anybody else is overwritten unasked.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use plugin_support::atomic::sync_directory;

use crate::PLUGINS;

/// The name of the program itself.
pub const PROGRAM: &str = "cni-plugins";

/// What tells a file of another release that is to be replaced from one of somebody else.
const MARK: &[u8] = b"one program that is every CNI plugin of the SDK for Rust";

/// What is done with files of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// They stay, and nothing is installed.
    Keep,
    /// They are replaced.
    Replace,
}

/// What was installed.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installed {
    /// The names that were put there or replaced.
    pub written: Vec<&'static str>,
    /// The names that were there already, as they should be.
    pub unchanged: Vec<&'static str>,
}

/// Nothing, or not everything, was installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files of others have the names. Nothing was changed.
    #[error("failed to install into {directory:?}: somebody else's there: {}", .names.join(", "))]
    Foreign {
        /// Where.
        directory: PathBuf,
        /// The names.
        names: Vec<&'static str>,
    },
    /// A file could not be read or written.
    #[error("failed to {attempt} {path:?}")]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// What a name in the directory stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    AsItShouldBe,
    OfAnotherRelease,
    SomebodyElses,
}

/// Puts a program, which is this one, and the names of all plugins into a directory, which is made if there is none. Done
/// twice, it changes nothing.
///
/// # Errors
///
/// [`Error::Foreign`] if files of others have the names and are to be kept; then nothing has changed. [`Error::Io`] if a
/// file cannot be read or written; then some names may be new and others old, and each of them works.
pub fn install(directory: &Path, program: &Path, foreign: Foreign) -> Result<Installed, Error> {
    let content = fs::read(program).map_err(failed("read", program))?;
    fs::create_dir_all(directory).map_err(failed("create", directory))?;
    let names = || PLUGINS.iter().map(|plugin| plugin.name);
    let mut found = vec![(PROGRAM, program_at(&directory.join(PROGRAM), &content)?)];
    for name in names() {
        found.push((name, link_at(&directory.join(name))?));
    }
    let others = found.iter().filter(|(_, found)| *found == Found::SomebodyElses).map(|(name, _)| *name);
    let others: Vec<_> = others.collect();
    if foreign == Foreign::Keep && !others.is_empty() {
        return Err(Error::Foreign { directory: directory.into(), names: others });
    }
    let mut installed = Installed::default();
    for (name, found) in found {
        if found == Found::AsItShouldBe {
            installed.unchanged.push(name);
            continue;
        }
        let path = directory.join(name);
        // The program comes first: no link is there without it.
        let put = if name == PROGRAM {
            put_program(directory, &path, &content)
        } else {
            put_link(directory, &path)
        };
        put.map_err(failed("write", &path))?;
        installed.written.push(name);
    }
    // The names last longer than a power failure only when the directory does.
    let synced = File::open(directory).and_then(|directory| sync_directory(&directory));
    synced.map_err(failed("sync", directory))?;
    Ok(installed)
}

/// What is where the program is to be.
fn program_at(path: &Path, content: &[u8]) -> Result<Found, Error> {
    let Some(metadata) = metadata_of(path)? else { return Ok(Found::Nothing) };
    if !metadata.is_file() {
        return Ok(Found::SomebodyElses);
    }
    let there = fs::read(path).map_err(failed("read", path))?;
    Ok(if there == content && metadata.permissions().mode() & 0o7777 == MODE {
        Found::AsItShouldBe
    } else if there == content || there.windows(MARK.len()).any(|bytes| bytes == MARK) {
        Found::OfAnotherRelease
    } else {
        Found::SomebodyElses
    })
}

/// What is where a link is to be.
fn link_at(path: &Path) -> Result<Found, Error> {
    let Some(metadata) = metadata_of(path)? else { return Ok(Found::Nothing) };
    if !metadata.is_symlink() {
        return Ok(Found::SomebodyElses);
    }
    let target = fs::read_link(path).map_err(failed("read", path))?;
    Ok(if target == Path::new(PROGRAM) { Found::AsItShouldBe } else { Found::SomebodyElses })
}

fn metadata_of(path: &Path) -> Result<Option<fs::Metadata>, Error> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("look at", path)(error)),
    }
}

/// Of the program: everybody may run it.
const MODE: u32 = 0o755;

/// Runtimes look for plugins by name, and so never at a file whose name begins like this.
const PREFIX: &str = ".cni-plugins-";

fn put_program(directory: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(MODE))?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn put_link(directory: &Path, path: &Path) -> io::Result<()> {
    let link = tempfile::Builder::new().prefix(PREFIX).make_in(directory, |path| symlink(PROGRAM, path))?;
    link.persist(path)?;
    Ok(())
}

fn failed<'a>(attempt: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { attempt, path: path.to_owned(), source }
}

/// Who this program is. A part of it is what [`install()`] tells it by.
pub fn about() -> &'static str {
    // Valid, as it is a literal.
    std::str::from_utf8(MARK).unwrap_or_default()
}
