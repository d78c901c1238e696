//! Further network namespaces on a private host: those a test hands to plugins itself, and another machine on
//! the host's network. Their names start with [`PREFIX`], so that they are told from those that runtimes make.

use std::path::{Path, PathBuf};

use crate::private_host::{HostCommand, PrivateHost, Ran};

/// What the names of a test's own namespaces and links start with.
pub const PREFIX: &str = "test-";

/// A network namespace on a private host. It goes when the host goes.
#[derive(Debug)]
pub struct Netns {
    host: PrivateHost,
    name: String,
}

impl PrivateHost {
    /// Makes a network namespace with loopback down, as a runtime hands it to plugins.
    ///
    /// # Panics
    ///
    /// If the host has one of that name.
    #[must_use]
    pub fn netns(&self, name: &str) -> Netns {
        let name = format!("{PREFIX}{name}");
        self.run(["ip", "netns", "add", &name]);
        Netns { host: self.clone(), name }
    }
}

impl Netns {
    /// The value for `CNI_NETNS`: a path inside the host.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.name)
    }

    /// Runs `words` in the namespace.
    ///
    /// # Panics
    ///
    /// Unless the program ends with status 0.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.command(words).run()
    }

    /// A program to run in the namespace.
    pub fn command(&self, words: &[&str]) -> HostCommand {
        self.host.command(["ip", "netns", "exec", &self.name].iter().chain(words))
    }

    /// Removes the namespace, as a runtime does before or after DEL.
    pub fn remove(self) {
        self.host.run(["ip", "netns", "del", &self.name]);
    }
}

/// Another machine on the host's network. It knows a route to the host alone, not to pods: an answer reaches a
/// pod only where the host masquerades.
#[derive(Debug)]
pub struct Neighbour {
    /// The machine's own network namespace.
    pub netns: Netns,
}

impl Neighbour {
    /// The host's addresses on the network, by which others know it.
    pub const HOST: [&'static str; 2] = ["203.0.113.1", "2001:db8:113::1"];
    /// The neighbour's own addresses.
    pub const ITSELF: [&'static str; 2] = ["203.0.113.2", "2001:db8:113::2"];
}

impl PrivateHost {
    /// Connects the host with another machine, its default gateway.
    ///
    /// # Panics
    ///
    /// If the host has one already.
    #[must_use]
    pub fn neighbour(&self) -> Neighbour {
        let uplink = format!("{PREFIX}uplink");
        let netns = self.netns("neighbour");
        self.run([
            "ip",
            "link",
            "add",
            &uplink,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            &netns.name,
        ]);
        // No tentative addresses: a test need not wait for them.
        self.run(["sysctl", "-qw", &format!("net.ipv6.conf.{uplink}.accept_dad=0")]);
        netns.run(&["sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=0"]);
        netns.run(&["ip", "link", "set", "lo", "up"]);
        netns.run(&["ip", "link", "set", "eth0", "up"]);
        self.run(["ip", "link", "set", &uplink, "up"]);
        for (index, prefix) in ["/24", "/64"].into_iter().enumerate() {
            let (host, itself) = (Neighbour::HOST[index], Neighbour::ITSELF[index]);
            self.run(["ip", "addr", "add", &format!("{host}{prefix}"), "dev", &uplink, "nodad"]);
            netns.run(&["ip", "addr", "add", &format!("{itself}{prefix}"), "dev", "eth0", "nodad"]);
            self.run(["ip", "route", "add", "default", "via", itself]);
        }
        Neighbour { netns }
    }
}
