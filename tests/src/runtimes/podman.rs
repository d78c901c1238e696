//! podman, with its CNI backend: it runs plugins through Go's libcni and gives published ports as a capability.

use super::{Container, Runtime};
use crate::private_host::{HostCommand, PrivateHost, Ran};

/// podman on a private host.
#[derive(Debug)]
pub struct Podman {
    host: PrivateHost,
    network: String,
}

impl Podman {
    /// A podman command, for what the [`Runtime`] trait does not offer.
    pub fn command(&self, words: &[&str]) -> HostCommand {
        let dir = self.host.dir();
        let path = |name: &str| dir.join(name).into_os_string();
        let mut line = vec!["podman".into(), "--root".into(), path("podman-root")];
        line.extend(["--runroot".into(), path("podman-run"), "--storage-driver=vfs".into()]);
        // crun, podman's default, refuses a mix of both versions of control groups.
        line.extend(["--runtime".into(), "/usr/sbin/runc".into()]);
        line.extend(words.iter().map(Into::into));
        self.host.command(line).env("CONTAINERS_CONF", dir.join("containers.conf").display().to_string())
    }
}

impl Runtime for Podman {
    const PROGRAMS: &'static [&'static str] = &["podman", "conmon", "runc"];
    const DEL_HAS_NETNS: bool = true;

    fn start(host: PrivateHost, network: &str) -> Self {
        let (plugins, networks) = (host.plugin_dir(), host.conf_dir());
        let conf = format!(
            "[network]\nnetwork_backend = \"cni\"\ncni_plugin_dirs = [{plugins:?}]\nnetwork_config_dir = {networks:?}\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n"
        );
        std::fs::write(host.dir().join("containers.conf"), conf)
            .expect("the host's directory can be written");
        Self { host, network: network.to_owned() }
    }

    fn host(&self) -> &PrivateHost {
        &self.host
    }

    fn run(&mut self, container: &Container) -> Result<(), String> {
        let (name, script) = (&container.name, container.script());
        let rootfs = self.host.rootfs().display().to_string();
        let cgroup = format!("/{}", self.host.id());
        let mut words = vec!["run", "--detach", "--name", name, "--network", &self.network];
        words.extend(["--cgroups=no-conmon", "--cgroup-parent", &cgroup]);
        // podman's defaults may be above what runc may raise them to.
        words.extend(["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]);
        let publish = container.host_port.map(|port| format!("--publish={port}:{}", super::SERVICE));
        words.extend(publish.as_deref());
        words.extend(["--rootfs", &rootfs, "/bin/sh", "-c", &script]);
        succeed(&self.command(&words).attempt())
    }

    fn exec(&self, name: &str, words: &[&str]) -> Ran {
        self.command(&[&["exec", name, "/bin/busybox"], words].concat()).attempt()
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        succeed(&self.command(&["rm", "--force", "--time=0", name]).attempt())
    }
}

fn succeed(ran: &Ran) -> Result<(), String> {
    if ran.success() { Ok(()) } else { Err(ran.to_string()) }
}
