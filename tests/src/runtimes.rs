//! The callers of plugins in the field, each on a private host behind one trait: podman, containerd's
//! command-line client, and containerd's CRI service as a kubelet uses it. A test written against the trait
//! holds for all of them.

mod containerd;
mod cri;
mod cri_client;
mod ctr;
mod podman;

use crate::private_host::{PrivateHost, Ran};

pub use self::cri::Cri;
pub use self::cri_client::Condition;
pub use self::ctr::Ctr;
pub use self::podman::Podman;

/// The port on which every container answers a TCP connection with its name.
pub const SERVICE: u16 = 80;

/// A container to start.
#[derive(Clone, Debug)]
pub struct Container {
    name: String,
    host_port: Option<u16>,
}

impl Container {
    /// A container that answers on port [`SERVICE`] with `name`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), host_port: None }
    }

    /// Publishes the container's service on `host_port` of all the host's addresses.
    #[must_use]
    pub fn publish(mut self, host_port: u16) -> Self {
        self.host_port = Some(host_port);
        self
    }

    /// A script that says when the container runs, and then answers.
    fn script(&self) -> String {
        format!("echo started; exec nc -ll -p {SERVICE} -e /bin/echo {}", self.name)
    }
}

/// A container runtime on a private host, with one network.
pub trait Runtime: Sized {
    /// The programs that it needs on the machine.
    const PROGRAMS: &'static [&'static str];

    /// Whether plugins learn the container's namespace on DEL. Some runtimes run DEL when the namespace is
    /// gone.
    const DEL_HAS_NETNS: bool;

    /// Sets the runtime up on `host`, whose plugins and networks are in place. Containers get the network
    /// `network`, which is the only one on the host.
    fn start(host: PrivateHost, network: &str) -> Self;

    /// The host that it runs on.
    fn host(&self) -> &PrivateHost;

    /// Starts a container; it is on the network when this returns.
    ///
    /// # Errors
    ///
    /// What the runtime says when it cannot, such as the error of a plugin.
    fn run(&mut self, container: &Container) -> Result<(), String>;

    /// Runs the busybox command `words` in the network of the container `name`.
    fn exec(&self, name: &str, words: &[&str]) -> Ran;

    /// Stops and removes the container `name`.
    ///
    /// # Errors
    ///
    /// What the runtime says when it cannot.
    fn remove(&mut self, name: &str) -> Result<(), String>;
}
