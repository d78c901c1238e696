//! Sysctls of the container: which file a key means, writing them and writing them back, comparing them.

use cni_skel::{Error, Result};
use plugin_support::netns::NetNs;
use plugin_support::sysctl::path_of;

use crate::config::invalid;

/// What stands for the interface's name in a key.
const IFNAME: &str = "IFNAME";

/// A sysctl and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key as it was written.
    pub key: String,
    /// Its path below `/proc/sys`, which is below `net`.
    pub path: String,
    /// The value.
    pub value: String,
}

/// What sysctls had before, newest last.
#[derive(Debug, Default)]
pub(crate) struct Written(Vec<(String, String)>);

impl Setting {
    /// A sysctl of an interface, or one that has nothing to do with interfaces.
    ///
    /// # Errors
    ///
    /// When the key is none of the network's. Code 7.
    pub fn new(key: &str, value: &str, ifname: &str) -> Result<Self> {
        let refused = |shown: &str| invalid(format!("invalid net sysctl key: {shown:?}"));
        // Dots and slashes first: the name may have dots, which stay. It has no slash.
        let path = path_of(key).map_err(|_| refused(key))?.replacen(IFNAME, ifname, 1);
        if !path.starts_with("net/") {
            return Err(refused(&path));
        }
        Ok(Self { key: key.to_owned(), path, value: value.to_owned() })
    }

    /// Verifies the value.
    pub(crate) fn check(&self, netns: &NetNs) -> Result<()> {
        let current = match netns.sysctl().read(&self.path) {
            // Some can only be written: there is nothing to compare.
            Err(error) if error.is_not_permitted() => return Ok(()),
            other => other.map_err(|error| self.told(error))?,
        };
        // The kernel has tabs between fields, whatever was written.
        if self.value.split_whitespace().eq(current.split_whitespace()) {
            return Ok(());
        }
        let Self { path, value, .. } = self;
        Err(Error::message(format!(
            "Error: Tuning configured value of /proc/sys/{path} is {value}, current value is {current}"
        )))
    }

    /// An error in the words that Go has for the one that people meet.
    fn told(&self, error: plugin_support::Error) -> Error {
        if error.is_not_found() {
            let Self { key, path, .. } = self;
            return Error::message(format!(
                "open /proc/sys/{path}: no such file or directory: this kernel has no sysctl {key:?}"
            ));
        }
        error.into()
    }
}

impl Written {
    /// Writes a sysctl and remembers what it had.
    pub(crate) fn write(&mut self, netns: &NetNs, setting: &Setting) -> Result<()> {
        let before = match netns.sysctl().read(&setting.path) {
            Ok(before) => Some(before),
            Err(error) if error.is_not_permitted() => None,
            Err(error) => return Err(setting.told(error)),
        };
        netns.sysctl().write(&setting.path, &setting.value).map_err(|error| setting.told(error))?;
        self.0.extend(before.map(|before| (setting.path.clone(), before)));
        Ok(())
    }

    /// Writes everything back, the newest first; goes on past errors.
    pub(crate) fn undo(self, netns: &NetNs) -> Vec<plugin_support::Error> {
        let written_back = self.0.iter().rev().map(|(path, before)| netns.sysctl().write(path, before));
        written_back.filter_map(std::result::Result::err).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(key: &str, ifname: &str) -> Result<String, String> {
        Setting::new(key, "1", ifname).map(|setting| setting.path).map_err(|error| error.to_object().msg)
    }

    #[test]
    fn keys_become_paths() {
        for (key, expected) in [
            ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
            ("net/ipv4/ip_forward", "net/ipv4/ip_forward"),
            ("net.ipv4.conf.IFNAME.arp_notify", "net/ipv4/conf/eth0.100/arp_notify"),
            ("net/ipv4/conf/IFNAME/arp_notify", "net/ipv4/conf/eth0.100/arp_notify"),
            ("net.ipv4.conf.IFNAME.IFNAME", "net/ipv4/conf/eth0.100/IFNAME"),
        ] {
            assert_eq!(path(key, "eth0.100").unwrap(), expected);
        }
    }

    #[test]
    fn nothing_but_the_network_is_reached() {
        for (key, shown) in [
            ("kernel.hostname", "kernel/hostname"),
            ("net", "net"),
            ("network.x", "network/x"),
            ("/net/ipv4/ip_forward", "/net/ipv4/ip_forward"),
            ("net/ipv4/../../kernel/hostname", "net/ipv4/../../kernel/hostname"),
            ("net.ipv4.//.//.kernel.hostname", "net.ipv4.//.//.kernel.hostname"),
            ("../net/x", "../net/x"),
            ("", ""),
            ("net..core", "net..core"),
            ("IFNAME/x", "eth0/x"),
        ] {
            assert_eq!(path(key, "eth0").unwrap_err(), format!("invalid net sysctl key: {shown:?}"));
        }
    }
}
