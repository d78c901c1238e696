//! Whether an ADD could succeed, without doing any of it: the data directory can be written, and each set has an
//! address left.

use std::io;
use std::path::Path;

use cni_skel::types::NetworkName;
use cni_skel::{Error, Result};
use plugin_support::state_dir;
use rustix::fs::{Access, access, statvfs};

use crate::allocator::{AllocateError, next_in};
use crate::range::RangeSet;
use crate::store::Store;

pub(crate) fn check(data_dir: &Path, network: &NetworkName, sets: &[RangeSet]) -> Result<()> {
    let dir = data_dir.join(network.as_str());
    state_dir::check(&dir)?;
    writable(existing(&dir))?;
    let Some(mut store) = Store::find(data_dir, network)? else {
        return Ok(());
    };
    for (range_set, set) in sets.iter().enumerate() {
        let mut free = next_in(&mut store, sets, range_set)?;
        if free.is_none() && store.recheck()? {
            free = next_in(&mut store, sets, range_set)?;
        }
        if free.is_none() {
            return Err(AllocateError::Exhausted { range_set, ranges: set.to_string() }.into());
        }
    }
    Ok(())
}

/// The directory, or the nearest one above it that is there, in which ADD would make it.
fn existing(dir: &Path) -> &Path {
    dir.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(Path::new("."))
}

/// Whether a file could be made in a directory. Read-only and immutable show even to root; so do file systems without
/// room.
fn writable(dir: &Path) -> Result<()> {
    let failed = |error: io::Error| {
        Error::from(plugin_support::Error::io(format!("data directory {dir:?} is not writable"), error))
    };
    if !dir.is_dir() {
        return Err(failed(rustix::io::Errno::NOTDIR.into()));
    }
    access(dir, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| failed(error.into()))?;
    let room = statvfs(dir).map_err(|error| failed(error.into()))?;
    // Some file systems do not count inodes: they have none in all.
    if room.f_bfree == 0 || (room.f_files > 0 && room.f_ffree == 0) {
        return Err(failed(rustix::io::Errno::NOSPC.into()));
    }
    Ok(())
}
