//! Kernel settings under `/proc/sys`: which file a key means, reading and writing it.
//!
//! Most of `/proc/sys/net` belongs to the namespace of the thread that opens it, so a [`Sysctl`] comes from a
//! [`NetNs`] and does its work inside.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::netns::NetNs;

/// Where the kernel has its settings.
const ROOT: &str = "/proc/sys";

/// The settings of one network namespace, from [`NetNs::sysctl`].
///
/// Keys are read as [`path_of`] says. Values are text without the final line end; a value of several fields has tabs
/// between them when read, and takes spaces as well when written.
///
/// ```no_run
/// # use plugin_support::netns::NetNs;
/// let host = NetNs::current()?;
/// host.sysctl().write("net/ipv4/ip_forward", "1")?;
/// // Not every kernel has IPv6.
/// host.sysctl().write_if_present("net/ipv6/conf/all/forwarding", "1")?;
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Debug)]
pub struct Sysctl<'a> {
    netns: &'a NetNs,
    root: PathBuf,
}

impl NetNs {
    /// The settings of this namespace.
    pub fn sysctl(&self) -> Sysctl<'_> {
        #[cfg(feature = "testing")]
        if let Some(fake) = &self.fake {
            return Sysctl { netns: self, root: fake.sysctl_root().to_owned() };
        }
        Sysctl { netns: self, root: ROOT.into() }
    }
}

impl Sysctl<'_> {
    /// The value of a setting.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if this kernel has no such setting. A key that is none is [`Error::Invalid`].
    pub fn read(&self, key: &str) -> Result<String> {
        let path = self.root.join(path_of(key)?);
        let value = self.netns.run(|| fs::read_to_string(&path))?;
        match value {
            Ok(value) => Ok(value.trim_end_matches('\n').to_owned()),
            Err(source) => Err(Error::io(format!("failed to read sysctl {path:?}"), source)),
        }
    }

    /// Sets a setting.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and if the kernel does not take the value.
    pub fn write(&self, key: &str, value: &str) -> Result<()> {
        let path = self.root.join(path_of(key)?);
        self.netns
            .run(|| write(&path, value))?
            .map_err(|source| Error::io(format!("failed to write {value:?} to sysctl {path:?}"), source))
    }

    /// The value of a setting, `None` if this kernel has no such setting.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), save for a missing setting.
    pub fn read_if_present(&self, key: &str) -> Result<Option<String>> {
        present(self.read(key))
    }

    /// Sets a setting if this kernel has it, and tells whether it does.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), save for a missing setting.
    pub fn write_if_present(&self, key: &str, value: &str) -> Result<bool> {
        Ok(present(self.write(key, value))?.is_some())
    }
}

/// The path of a key below `/proc/sys`, in the two notations of sysctl(8), told apart by the first separator:
/// `net.ipv4.conf.eth0/100.arp_notify` and `net/ipv4/conf/eth0.100/arp_notify` are the same setting of the interface
/// `eth0.100`.
///
/// # Errors
///
/// If the key is empty, has an empty part, or would lead out of `/proc/sys`.
///
/// ```
/// use plugin_support::sysctl::path_of;
/// assert_eq!(path_of("net.ipv4.ip_forward")?, "net/ipv4/ip_forward");
/// assert_eq!(path_of("net.ipv4.conf.eth0/100.arp_notify")?, "net/ipv4/conf/eth0.100/arp_notify");
/// assert!(path_of("net/ipv4/../../kernel/hostname").is_err());
/// # Ok::<(), plugin_support::Error>(())
/// ```
pub fn path_of(key: &str) -> Result<String> {
    let dots_first = key.find(['.', '/']).is_some_and(|first| key.as_bytes()[first] == b'.');
    let path: String = if dots_first {
        let swap = |c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        };
        key.chars().map(swap).collect()
    } else {
        key.to_owned()
    };
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains('\0') {
        return Err(Error::Invalid(format!(
            "invalid sysctl key {key:?}: expected names separated by dots or by slashes"
        )));
    }
    Ok(path)
}

/// As [`path_of`], for a key that must lie below `parent`, such as `net`.
///
/// # Errors
///
/// As [`path_of`], and if the key lies elsewhere.
pub fn path_below(parent: &str, key: &str) -> Result<String> {
    let path = path_of(key)?;
    match path.strip_prefix(parent) {
        Some(rest) if rest.starts_with('/') => Ok(path),
        _ => Err(Error::Invalid(format!("invalid sysctl key {key:?}: expected a key below {parent:?}"))),
    }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = fs::File::options().write(true).truncate(true).open(path)?;
    // One call: the kernel takes each as a whole value.
    let length = file.write(value.as_bytes())?;
    if length < value.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
}

fn present<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_decides() {
        for (key, path) in [
            ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
            ("net/ipv4/ip_forward", "net/ipv4/ip_forward"),
            ("net.ipv4.conf.eth0/100.arp_notify", "net/ipv4/conf/eth0.100/arp_notify"),
            ("net/ipv4/conf/eth0.100/arp_notify", "net/ipv4/conf/eth0.100/arp_notify"),
            ("kernel", "kernel"),
        ] {
            assert_eq!(path_of(key).unwrap(), path);
            assert_eq!(path_of(path).unwrap(), path, "a path means itself");
        }
    }

    #[test]
    fn no_key_leads_out() {
        for key in [
            "",
            ".",
            "/",
            "..",
            "net.",
            ".net",
            "/net",
            "net/",
            "net..core",
            "net//core",
            "net/..",
            "net/../kernel",
            "net/./core",
            "../proc",
            "net.//.kernel",
            "net\0",
        ] {
            let error = path_of(key).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("invalid sysctl key {key:?}: expected names separated by dots or by slashes")
            );
        }
    }

    #[test]
    fn a_parent_is_a_whole_name() {
        assert_eq!(path_below("net", "net.core.somaxconn").unwrap(), "net/core/somaxconn");
        for key in ["net", "network.x", "kernel.hostname", "fs/net/x"] {
            let error = path_below("net", key).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("invalid sysctl key {key:?}: expected a key below \"net\"")
            );
        }
    }
}
