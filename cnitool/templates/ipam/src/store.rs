//! Which addresses are taken, and by whom: a file for each, named after the address, with the owner in it.
//!
//! A lock makes finding and taking one step, across processes; the kernel releases it when its holder dies. A reservation
//! that was cut short is an empty file, which belongs to nobody and is taken over.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use cni_skel::{Result, ResultExt};

/// The reservations of a network, locked until this is dropped.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    _lock: File,
}

/// What stands for an attachment. Neither part has a blank in it.
pub fn owner(container_id: &str, ifname: &str) -> String {
    format!("{container_id} {ifname}")
}

impl Store {
    /// Opens the store in a directory, which is made if need be, and waits for its lock.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or not be locked.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self> {
        let dir = dir.into();
        let lock = lock(&dir).with_context(|| format!("opening the store {}", dir.display()))?;
        Ok(Self { dir, _lock: lock })
    }

    /// The address of an owner.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn find(&self, owner: &str) -> Result<Option<IpAddr>> {
        Ok(self
            .reservations()?
            .into_iter()
            .find(|(_, found)| found == owner)
            .map(|(address, _)| address))
    }

    /// The address of an owner: the one that it has, or else the first that is free.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    pub fn reserve(
        &self,
        owner: &str,
        addresses: impl Iterator<Item = IpAddr>,
    ) -> Result<Option<IpAddr>> {
        if let Some(address) = self.find(owner)? {
            return Ok(Some(address));
        }
        let Some(address) = self.first_free(addresses)? else {
            return Ok(None);
        };
        let path = self.dir.join(address.to_string());
        write(&path, owner).with_context(|| format!("reserving {address}"))?;
        Ok(Some(address))
    }

    /// The first address that nobody has.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn first_free(
        &self,
        mut addresses: impl Iterator<Item = IpAddr>,
    ) -> Result<Option<IpAddr>> {
        let taken = self.reservations()?;
        let is_free = |address: &IpAddr| {
            taken
                .iter()
                .all(|(one, owner)| one != address || owner.is_empty())
        };
        Ok(addresses.find(is_free))
    }

    /// Takes the addresses of an owner back.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    pub fn release(&self, owner: &str) -> Result<()> {
        self.remove(|found| found == owner)
    }

    /// Takes the addresses of all but these owners back.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    pub fn retain(&self, owners: &[String]) -> Result<()> {
        self.remove(|found| !owners.iter().any(|owner| owner == found))
    }

    fn remove(&self, is_meant: impl Fn(&str) -> bool) -> Result<()> {
        for (address, owner) in self.reservations()? {
            if is_meant(&owner) {
                let path = self.dir.join(address.to_string());
                fs::remove_file(path).with_context(|| format!("taking {address} back"))?;
            }
        }
        Ok(())
    }

    fn reservations(&self) -> Result<Vec<(IpAddr, String)>> {
        read(&self.dir).with_context(|| format!("reading the store {}", self.dir.display()))
    }
}

fn lock(dir: &Path) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join("lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn write(path: &Path, owner: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(owner.as_bytes())?;
    file.sync_all()
}

fn read(dir: &Path) -> io::Result<Vec<(IpAddr, String)>> {
    let mut reservations = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        // The lock is no reservation.
        let Some(address) = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok())
        else {
            continue;
        };
        match fs::read_to_string(&path) {
            Ok(owner) => reservations.push((address, owner)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reservations)
}
