//! What several tests need: a folder with files.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that goes away with its test.
pub(crate) struct Dir(TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with these files; folders on the way are made.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let dir = Self::new();
        for (name, content) in files {
            dir.write(name, content);
        }
        dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}
