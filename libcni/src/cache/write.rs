//! Writing to the cache: whole or not at all, and in time to say no before anything is done to the host.
//!
//! What a power cut must leave is a record of each attachment, finished or not, so that no address stays reserved for one
//! that nobody knows of. That an ADD is under way is on the disk before the first plugin is started. The result is, too,
//! before it gets its name, but not the names: it takes the place of the record of the ADD, and then Go's name. Each is
//! one rename, and whichever of them are on the disk, in whatever order, one record is there. This needs a file system on which
//! a rename is there as a whole or not at all, such as ext4 with its journal, xfs and btrfs; ext2, vfat, and ext4 without a
//! journal may lose both names. Removals are not waited for either: a record that comes back costs one more DEL.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cni_types::VersionedResult;
use rustix::io::Errno;

use super::name::{Identity, TEMPORARY_PREFIX};
use super::{Cache, Content, Found, entry, inspect, remove};
use crate::attachment::RuntimeConf;
use crate::failpoint;
use crate::file::MAX_FILE_BYTES;
use crate::network::Network;

/// An ADD that is under way: its place in the cache is sure.
///
/// Dropped without a word, it leaves its record behind, as if the process had died.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    cache: &'a Cache,
    network: &'a Network,
    rt: &'a RuntimeConf,
    record: PathBuf,
}

impl Cache {
    /// Proves that the cache can be written for an attachment, and notes that its ADD is under way.
    pub(crate) fn begin<'a>(&'a self, network: &'a Network, rt: &'a RuntimeConf) -> io::Result<Pending<'a>> {
        let identity = identity(network, rt);
        if let Some(length) = identity.excess() {
            let message =
                format!("the name of the cache file would be {length} bytes long, at most 255 are possible");
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, message));
        }
        let results = self.results();
        self.create_results(&results)?;
        let [common, second, record] = identity.paths(&results);
        let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        // Which of them it would be takes reading a file, and hardly ever matters.
        if (is_dir(&common) || is_dir(&second))
            && let [place, _] = self.places(identity)
            && is_dir(&place)
        {
            let message = format!("there is a directory at {}", place.display());
            return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
        }
        // Of an ADD before, which was stopped between the two names. It may be all that is known of what that one made.
        if matches!(inspect(&record, identity), Found::Content { content: Content::Record(_), .. }) {
            self.settle(identity, &record)?;
        }
        write(&results, &record, &entry::pending(network, rt)?)?;
        failpoint::hit();
        sync_dir(&results)?;
        Ok(Pending { cache: self, network, rt, record })
    }

    /// Gives a finished record its own name.
    fn settle(&self, identity: Identity<'_>, record: &Path) -> io::Result<()> {
        let [place, other] = self.places(identity);
        fs::rename(record, &place)?;
        failpoint::hit();
        // Written there while this place was taken. Left behind, it would only be removed later.
        if matches!(inspect(&other, identity), Found::Content { content: Content::Record(_), .. }) {
            let _ = remove(&other);
        }
        Ok(())
    }

    /// The file to write for an attachment, which has Go's name unless that is another's, and the file that is not.
    fn places(&self, identity: Identity<'_>) -> [PathBuf; 2] {
        let [common, second, _] = identity.paths(&self.results());
        match inspect(&common, identity) {
            Found::Nothing { other: Some(_) } => [second, common],
            _ => [common, second],
        }
    }

    /// Private, as Go makes it: results tell where containers can be reached.
    fn create_results(&self, results: &Path) -> io::Result<()> {
        match fs::metadata(results) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => {
                let message = format!("{} is no directory", results.display());
                return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
            }
            Err(_) => {}
        }
        let missing: Vec<_> = results.ancestors().take_while(|dir| !dir.exists()).collect();
        DirBuilder::new().recursive(true).mode(0o700).create(results)?;
        missing.iter().filter_map(|dir| dir.parent()).try_for_each(sync_dir)
    }
}

impl Pending<'_> {
    /// Keeps the result. A power cut may leave the record of the ADD instead.
    pub(crate) fn commit(self, result: &VersionedResult) -> io::Result<()> {
        let bytes = entry::finished(self.network, self.rt, result)?;
        // Not at once to its place, with the record of the ADD removed after that: of those two the disk could keep the
        // removal alone.
        write(&self.cache.results(), &self.record, &bytes)?;
        failpoint::hit();
        self.cache.settle(identity(self.network, self.rt), &self.record)
    }

    /// Forgets that there was an ADD.
    pub(crate) fn abandon(self) {
        // Left behind, it only makes a later GC call DEL once more.
        let _ = remove(&self.record);
    }
}

/// What an attachment to a network is known by.
pub(crate) fn identity<'a>(network: &'a Network, rt: &'a RuntimeConf) -> Identity<'a> {
    Identity {
        network: network.name.as_str(),
        container_id: rt.container_id().as_str(),
        ifname: rt.ifname().as_str(),
    }
}

/// Writes a file beside its place and moves it there, so that no reader ever sees a part of it. Its mode is 0600. What it
/// says is on the disk before it has its name, which is not when this returns.
fn write(dir: &Path, place: &Path, bytes: &[u8]) -> io::Result<()> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let length = bytes.len();
        let message =
            format!("the cache file would be {length} bytes large, at most {MAX_FILE_BYTES} are read again");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    failpoint::hit();
    let mut file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(dir)?;
    failpoint::hit();
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    failpoint::hit();
    file.persist(place).map_err(|error| error.error)?;
    Ok(())
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    // The first of a relative path is in the working directory.
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    match File::open(dir)?.sync_all() {
        // The file system cannot flush directories, as some on other machines: fsync(2) has EINVAL for that and nothing else.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        synced => synced,
    }
}
