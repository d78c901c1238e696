//! Where plugins lie: the search path, and which file in it is a plugin.
//!
//! A plugin's type is never a path ([`PluginType`]), so what is found lies directly inside a directory of the search
//! path. Empty and relative elements are never searched: the working directory of a runtime is nobody's plugin
//! directory, and Go's library would take a program from it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cni_types::PluginType;

/// Directories to look for plugins in, in order; `CNI_PATH` once it is text.
///
/// ```
/// use cni_invoke::SearchPath;
///
/// let path = SearchPath::parse("/opt/cni/bin:/usr/lib/cni");
/// assert_eq!(path.dirs().len(), 2);
/// assert_eq!(path, SearchPath::new(["/opt/cni/bin", "/usr/lib/cni"]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    dirs: Vec<PathBuf>,
}

impl SearchPath {
    /// These directories, in this order.
    pub fn new<P: Into<PathBuf>>(dirs: impl IntoIterator<Item = P>) -> Self {
        Self { dirs: dirs.into_iter().map(Into::into).collect() }
    }

    /// The directories of `CNI_PATH`; none of an empty one.
    pub fn parse(text: impl AsRef<OsStr>) -> Self {
        let text = text.as_ref();
        if text.is_empty() {
            return Self::default();
        }
        Self::new(text.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes))
    }

    /// Appends a directory.
    pub fn push(&mut self, dir: impl Into<PathBuf>) {
        self.dirs.push(dir.into());
    }

    /// The directories, in order, those that are never searched included.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The text for `CNI_PATH`. A directory with `:` in its name cannot be told in it, and is left out.
    pub fn to_text(&self) -> OsString {
        let tellable = self.dirs.iter().filter(|dir| !has_colon(dir));
        tellable.map(|dir| dir.as_os_str()).collect::<Vec<_>>().join(OsStr::new(":"))
    }
}

/// Looks for a plugin: the first regular file of its name that somebody may execute. Symbolic links are followed.
///
/// # Errors
///
/// When there is none; the error tells of each directory why not.
#[doc(alias = "FindInPath")]
pub fn find_plugin(plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
    let mut searched = Vec::with_capacity(search_path.dirs.len());
    for dir in &search_path.dirs {
        match look_in(dir, plugin) {
            Ok(found) => return Ok(found),
            Err(miss) => searched.push((dir.clone(), miss)),
        }
    }
    Err(FindError { plugin: plugin.clone(), searched })
}

fn look_in(dir: &Path, plugin: &PluginType) -> Result<PathBuf, Miss> {
    if let Some(refused) = refusal(dir) {
        return Err(refused);
    }
    let path = dir.join(plugin.as_str());
    let found = match fs::metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing(dir, &path)),
        Err(error) => return Err(Miss::Unreadable(error)),
    };
    if !found.is_file() {
        Err(Miss::NotAFile)
    } else if found.permissions().mode() & 0o111 == 0 {
        Err(Miss::NotExecutable)
    } else {
        Ok(path)
    }
}

/// Why a directory is not even searched.
pub(crate) fn refusal(dir: &Path) -> Option<Miss> {
    if dir.as_os_str().is_empty() {
        Some(Miss::RefusedEmpty)
    } else if !dir.is_absolute() {
        Some(Miss::RefusedRelative)
    } else if has_colon(dir) {
        Some(Miss::RefusedColon)
    } else {
        None
    }
}

/// What exactly is missing: the directory, the file, or what a link points to.
fn missing(dir: &Path, path: &Path) -> Miss {
    if !dir.exists() {
        Miss::NoDirectory
    } else if path.is_symlink() {
        Miss::DanglingLink
    } else {
        Miss::Absent
    }
}

fn has_colon(dir: &Path) -> bool {
    dir.as_os_str().as_bytes().contains(&b':')
}

/// Why a directory of the search path did not have the plugin.
#[derive(Debug)]
#[non_exhaustive]
pub enum Miss {
    /// It has no file of that name.
    Absent,
    /// It has a symbolic link of that name to nowhere.
    DanglingLink,
    /// It does not exist.
    NoDirectory,
    /// What it has of that name is a directory, a device or the like.
    NotAFile,
    /// Nobody may execute the file.
    NotExecutable,
    /// Not searched: `:` would split it in `CNI_PATH`.
    RefusedColon,
    /// Not searched: an empty element.
    RefusedEmpty,
    /// Not searched: not absolute.
    RefusedRelative,
    /// It cannot be looked into.
    Unreadable(io::Error),
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("no such file"),
            Self::DanglingLink => f.write_str("a dangling link"),
            Self::NoDirectory => f.write_str("no such directory"),
            Self::NotAFile => f.write_str("not a regular file"),
            Self::NotExecutable => f.write_str("not executable"),
            Self::RefusedColon => f.write_str("not searched, a directory must have no ':' in its name"),
            Self::RefusedEmpty => f.write_str("not searched, an empty element names no directory"),
            Self::RefusedRelative => f.write_str("not searched, a directory must be absolute"),
            Self::Unreadable(error) => error.fmt(f),
        }
    }
}

/// A plugin was not found.
#[derive(Debug)]
#[non_exhaustive]
pub struct FindError {
    /// The plugin's type.
    pub plugin: PluginType,
    /// Each directory of the search path, in order, and what was wrong with it.
    pub searched: Vec<(PathBuf, Miss)>,
}

impl FindError {
    /// An error for a plugin that none of these directories has.
    pub fn absent(plugin: &PluginType, search_path: &SearchPath) -> Self {
        let searched = search_path.dirs.iter().map(|dir| (dir.clone(), Miss::Absent)).collect();
        Self { plugin: plugin.clone(), searched }
    }
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In the words of Go's library, which operators and their tools look for; what each directory lacks comes after.
        let dirs: Vec<_> = self.searched.iter().map(|(dir, _)| dir.to_string_lossy()).collect();
        write!(f, "failed to find plugin {:?} in path [{}]", self.plugin.as_str(), dirs.join(" "))?;
        if self.searched.is_empty() {
            return f.write_str(": no directory to search was given (CNI_PATH is empty or not set)");
        }
        for (at, (dir, miss)) in self.searched.iter().enumerate() {
            write!(f, "{} {dir:?} ({miss})", if at == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for FindError {}

#[cfg(test)]
mod tests;
