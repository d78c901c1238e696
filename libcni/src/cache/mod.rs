//! The result cache on disk: which file is whose, and how it is written.
//!
//! Format and names are those of Go's `libcni`, so that a node can change from one runtime to the other and back. Beyond
//! Go's: what a file is for is told by its content, so that names which two attachments share do no harm; files are
//! written whole or not at all; and an ADD that is under way leaves a record of its own, so that GC can clean up after a
//! runtime that died in the middle of one.
//!
//! Who may call what when is decided by the locks of the operations. What an unusable cache means for an operation is
//! decided there, too.

mod attachments;
mod entry;
mod name;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use cni_types::VersionedResult;

pub(crate) use attachments::Listing;
pub use attachments::{CachedAttachment, InvalidRecord};
pub(crate) use entry::{Content, Damage};
pub(crate) use name::Identity;
pub(crate) use write::identity;

use crate::failpoint;
use crate::file::read;

/// Where Go's `libcni` keeps its cache, unless told otherwise.
pub const DEFAULT_CACHE_DIR: &str = "/var/lib/cni";

/// The folder of the cache files inside the cache directory.
const RESULTS: &str = "results";

/// A cache directory.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

/// What the cache has for an attachment.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing. If a file has the name but is another attachment's, its place.
    Nothing { other: Option<PathBuf> },
    /// A file that is for it.
    Content { file: PathBuf, content: Content },
    /// A file that is for it by its name, but cannot be used.
    Unusable { file: PathBuf, why: Damage },
}

/// The result of ADD, as far as the cache has it.
#[derive(Debug)]
pub(crate) enum CachedResult {
    /// There is none. If a file has the name but is another attachment's, its place.
    None { other: Option<PathBuf> },
    /// It can be used.
    Good(Box<VersionedResult>),
    /// It cannot be used.
    Bad { file: PathBuf, why: Damage },
}

impl Cache {
    pub(crate) fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The cache directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of the cache files.
    pub(crate) fn results(&self) -> PathBuf {
        self.dir.join(RESULTS)
    }

    /// Looks for the record of a finished ADD.
    pub(crate) fn find(&self, identity: Identity<'_>) -> Found {
        let [common, second, pending] = identity.paths(&self.results());
        let first = inspect(&common, identity);
        if !matches!(first, Found::Nothing { .. }) {
            return first;
        }
        // Under the second name lie only records that could not have the first; under that of an ADD under way, a finished
        // one whose process, or whose machine, stopped just before it had its own.
        let second = inspect(&second, identity);
        if !matches!(second, Found::Nothing { .. }) {
            return second;
        }
        let pending = inspect(&pending, identity);
        if matches!(pending, Found::Content { .. }) { pending } else { first }
    }

    /// The result of a finished ADD.
    pub(crate) fn result(&self, identity: Identity<'_>) -> CachedResult {
        match self.find(identity) {
            Found::Nothing { other } => CachedResult::None { other },
            Found::Content { content: Content::Legacy(result), .. } => CachedResult::Good(result),
            Found::Content { file, content: Content::Record(record) } => match record.result() {
                Ok(result) => CachedResult::Good(Box::new(result)),
                Err(why) => CachedResult::Bad { file, why },
            },
            Found::Unusable { file, why } => CachedResult::Bad { file, why },
        }
    }

    /// Removes every file that is for an attachment. Gives what could not be removed.
    pub(crate) fn remove(&self, identity: Identity<'_>) -> Vec<(PathBuf, io::Error)> {
        let is_ours = |path: &PathBuf| match read(path).map(|bytes| entry::decode(&bytes)) {
            Ok(Ok(Content::Record(record))) => record.identity() == identity,
            // What does not say what it is for is what its name says.
            Ok(Ok(Content::Legacy(_)) | Err(_)) | Err(_) => true,
        };
        let ours = identity.paths(&self.results()).into_iter().filter(is_ours);
        ours.filter_map(|path| remove(&path).err().map(|error| (path, error))).collect()
    }
}

/// What a file is to an attachment whose name it has.
fn inspect(path: &Path, identity: Identity<'_>) -> Found {
    let content = match read(path) {
        Ok(bytes) => entry::decode(&bytes),
        // A name that is too long for the file system is no file's.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => {
            return Found::Nothing { other: None };
        }
        Err(error) => Err(Damage::new(error.to_string())),
    };
    match content {
        Ok(Content::Record(record)) if record.identity() != identity || !record.finished => {
            Found::Nothing { other: Some(path.to_owned()) }
        }
        Ok(content) => Found::Content { file: path.to_owned(), content },
        Err(why) => Found::Unusable { file: path.to_owned(), why },
    }
}

/// Removes a file; a directory only if it is empty. One that is not there is as good as removed.
fn remove(path: &Path) -> io::Result<()> {
    failpoint::hit();
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => std::fs::remove_dir(path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => {
            Ok(())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
