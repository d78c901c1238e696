//! containerd's command-line client, which runs plugins itself through go-cni: ADD when a container has
//! started, DEL when its process has ended. It reads the fixed directories, and knows no published ports.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::containerd::Containerd;
use super::{Container, Runtime};
use crate::private_host::{Background, PrivateHost, Ran};

/// containerd with its client on a private host.
#[derive(Debug)]
pub struct Ctr {
    host: PrivateHost,
    containerd: Containerd,
    network: String,
    /// The clients: each stays attached to its container, since only then it runs DEL.
    running: BTreeMap<String, Background>,
}

impl Runtime for Ctr {
    const PROGRAMS: &'static [&'static str] = &["containerd", "containerd-shim-runc-v2", "ctr", "runc"];
    const DEL_HAS_NETNS: bool = false;

    fn start(host: PrivateHost, network: &str) -> Self {
        let containerd =
            Containerd::start(host.clone(), "disabled_plugins = [\"io.containerd.grpc.v1.cri\"]");
        let network = network.to_owned();
        Self { host, containerd, network, running: BTreeMap::new() }
    }

    fn host(&self) -> &PrivateHost {
        &self.host
    }

    fn run(&mut self, container: &Container) -> Result<(), String> {
        let conflist = self.conflist();
        self.host.add_network(&with_port_mapping(&conflist, container.host_port));

        let (name, script) = (&container.name, container.script());
        let cgroup = format!("/{}/{name}", self.host.id());
        let rootfs = self.host.rootfs().display().to_string();
        let words = [
            "run", "--rm", "--cni", "--cgroup", &cgroup, "--rootfs", &rootfs, name, "/bin/sh", "-c", &script,
        ];
        let mut client = self.containerd.ctr(self.host.id(), &words).spawn();
        // The container's process starts after ADD. The client has read the configuration by then.
        let line = client.next_line();
        self.host.add_network(&conflist);
        if line.is_none() {
            let why = client.wait().to_string();
            // The client runs DEL and leaves the container, whose process waits to be started.
            for words in [&["task", "delete", "--force", name][..], &["container", "delete", name]] {
                self.containerd.ctr(self.host.id(), words).attempt();
            }
            return Err(why);
        }
        self.running.insert(name.clone(), client);
        Ok(())
    }

    fn exec(&self, name: &str, words: &[&str]) -> Ran {
        // Not `ctr task exec`: it may end before it has passed on what a short command prints.
        let netns = format!("--net=/proc/{}/ns/net", self.process_of(name));
        self.host.command(["nsenter", &netns, "--", "busybox"].iter().chain(words)).attempt()
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        let client = self.running.remove(name).ok_or_else(|| format!("no container {name:?} runs"))?;
        self.containerd.ctr(self.host.id(), &["task", "kill", "--signal", "KILL", name]).run();
        let ran = client.wait();
        // 128 + SIGKILL is the container's status; that it could not remove the network, the client only logs.
        if ran.status.code() == Some(137) && !ran.stderr.contains("level=error") {
            Ok(())
        } else {
            Err(ran.to_string())
        }
    }
}

impl Ctr {
    /// The ID of the process of the container `name`, from lines such as `c1    231    RUNNING`.
    fn process_of(&self, name: &str) -> u32 {
        let ran = self.containerd.ctr(self.host.id(), &["task", "list"]).run();
        let rows = ran.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let id = rows.filter(|row| row.first() == Some(&name)).find_map(|row| row.get(1)?.parse().ok());
        id.unwrap_or_else(|| panic!("no process of {name:?}: {ran}"))
    }

    fn conflist(&self) -> Value {
        let path = self.host.conf_dir().join(format!("10-{}.conflist", self.network));
        let text = std::fs::read(path).expect("the network was added");
        serde_json::from_slice(&text).expect("the network was added as JSON")
    }
}

/// The configuration with a published port where a runtime that knows the capability puts it. The client has no
/// option for it, and passes on what stands there.
fn with_port_mapping(conflist: &Value, host_port: Option<u16>) -> Value {
    let mut conflist = conflist.clone();
    let Some(host_port) = host_port else { return conflist };
    let mapping = json!({"hostPort": host_port, "containerPort": super::SERVICE, "protocol": "tcp"});
    let plugins = conflist["plugins"].as_array_mut().expect("a list has plugins");
    for plugin in plugins.iter_mut().filter(|plugin| plugin["capabilities"]["portMappings"] == json!(true)) {
        plugin["runtimeConfig"] = json!({"portMappings": [mapping.clone()]});
    }
    conflist
}
