//! A directory in memory, for laws that need files: emptied, not made anew, for each input.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static ROOT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let in_memory = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a temporary directory can be made"))
});

/// An empty directory of this process.
pub(crate) fn empty_dir(name: &str) -> PathBuf {
    let dir = ROOT.path().join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).expect("a directory can be made");
    dir
}
