//! containerd's CRI service, called as a kubelet calls it when pods come and go. A pod here is its sandbox
//! alone: the sandbox is what has a network.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::containerd::Containerd;
use super::cri_client::{
    Condition, CriClient, LinuxPodSandboxConfig, PodSandboxConfig, PodSandboxMetadata,
    PodSandboxStatusResponse, PortMapping,
};
use super::{Container, Runtime, SERVICE};
use crate::private_host::{PrivateHost, Ran};

/// The namespace of all pods.
const NAMESPACE: &str = "tests";

/// The sandbox's image; containerd is told never to look for another.
const IMAGE: &str = "localhost/pause:1";

/// containerd's CRI service on a private host.
#[derive(Debug)]
pub struct Cri {
    host: PrivateHost,
    client: CriClient,
    /// IDs of sandboxes by the pod's name.
    pods: BTreeMap<String, String>,
    // Last: what uses the daemon goes first.
    _containerd: Containerd,
}

impl Runtime for Cri {
    const PROGRAMS: &'static [&'static str] =
        &["containerd", "containerd-shim-runc-v2", "ctr", "runc", "tar"];
    const DEL_HAS_NETNS: bool = true;

    fn start(host: PrivateHost, _network: &str) -> Self {
        let (bin_dir, conf_dir) = (host.plugin_dir(), host.conf_dir());
        let containerd = Containerd::start(
            host.clone(),
            &format!(
                r#"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{IMAGE}"
disable_apparmor = true
disable_cgroup = true
disable_tcp_service = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = {bin_dir:?}
conf_dir = {conf_dir:?}
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
"#
            ),
        );
        let image = sandbox_image(&host);
        let image = image.to_str().expect("the host's directory has an ordinary name");
        containerd.ctr("k8s.io", &["images", "import", "--snapshotter", "native", image]).run();
        let client = CriClient::connect(&containerd.socket());
        Self { host, client, pods: BTreeMap::new(), _containerd: containerd }
    }

    fn host(&self) -> &PrivateHost {
        &self.host
    }

    fn run(&mut self, container: &Container) -> Result<(), String> {
        self.run_all(std::slice::from_ref(container)).remove(0)
    }

    fn exec(&self, name: &str, words: &[&str]) -> Ran {
        let status = self.status(name);
        let info: Value =
            serde_json::from_str(&status.info["info"]).expect("containerd's own knowledge is JSON");
        let namespaces =
            info["runtimeSpec"]["linux"]["namespaces"].as_array().expect("a sandbox has namespaces");
        let network = namespaces.iter().find(|namespace| namespace["type"] == "network");
        let path = network.and_then(|network| network["path"].as_str()).expect("a pod's network has a path");
        let netns = format!("--net={path}");
        self.host.command(["nsenter", &netns, "--", "busybox"].iter().chain(words)).attempt()
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        let id = self.pods.remove(name).ok_or_else(|| format!("no pod {name:?} runs"))?;
        self.client.stop_pod(&id)?;
        self.client.remove_pod(&id)
    }
}

impl Cri {
    /// Starts pods, all at once, as a kubelet does. Says of each how it went.
    ///
    /// # Errors
    ///
    /// For each pod: what the service says when it cannot.
    pub fn run_all(&mut self, containers: &[Container]) -> Vec<Result<(), String>> {
        let configs = containers.iter().map(|container| self.config_of(container)).collect();
        let started = self.client.run_pods(configs).into_iter().zip(containers);
        let note = |(started, container): (Result<String, String>, &Container)| {
            self.pods.insert(container.name.clone(), started?);
            Ok(())
        };
        started.map(note).collect()
    }

    /// The addresses that the service names for the pod `name`, the main one first.
    ///
    /// # Panics
    ///
    /// If the pod does not run.
    #[must_use]
    pub fn pod_ips(&self, name: &str) -> Vec<IpAddr> {
        let network = self.status(name).status.unwrap_or_default().network.unwrap_or_default();
        let ips = std::iter::once(network.ip).chain(network.additional_ips.into_iter().map(|other| other.ip));
        ips.map(|ip| ip.parse().unwrap_or_else(|e| panic!("the service names {ip:?} as an address: {e}")))
            .collect()
    }

    /// The service's conditions: whether it and its network are ready.
    ///
    /// # Panics
    ///
    /// If the service does not answer.
    #[must_use]
    pub fn conditions(&self) -> Vec<Condition> {
        self.client.conditions().expect("the service answers")
    }

    /// The ID of the pod's sandbox, which is the plugins' container ID.
    ///
    /// # Panics
    ///
    /// If the pod does not run.
    #[must_use]
    pub fn pod_id(&self, name: &str) -> &str {
        self.pods.get(name).unwrap_or_else(|| panic!("no pod {name:?} runs"))
    }

    fn config_of(&self, container: &Container) -> PodSandboxConfig {
        let name = &container.name;
        let port =
            |port: u16| PortMapping { protocol: 0, container_port: SERVICE.into(), host_port: port.into() };
        PodSandboxConfig {
            metadata: Some(PodSandboxMetadata {
                name: name.clone(),
                uid: format!("{name}-uid"),
                namespace: NAMESPACE.to_owned(),
            }),
            // What the sandbox's process answers with.
            hostname: name.clone(),
            log_directory: self.host.dir().join("pod-logs").display().to_string(),
            port_mappings: container.host_port.map(port).into_iter().collect(),
            linux: Some(LinuxPodSandboxConfig {}),
        }
    }

    fn status(&self, name: &str) -> PodSandboxStatusResponse {
        self.client.pod_status(self.pod_id(name)).expect("the pod runs")
    }
}

/// Makes an image of one layer, the host's root file system, whose process answers on [`SERVICE`] with the
/// pod's name. Returns the archive's path.
fn sandbox_image(host: &PrivateHost) -> std::path::PathBuf {
    let dir = host.dir().join("image");
    fs::create_dir(&dir).expect("the host's directory is new");
    tar(host, &host.rootfs(), &dir.join("layer.tar"));

    let layer = fs::read(dir.join("layer.tar")).expect("tar wrote it");
    let digest: String = Sha256::digest(layer).iter().map(|byte| format!("{byte:02x}")).collect();
    let port = SERVICE.to_string();
    let config = json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": {"Entrypoint": ["/bin/nc", "-ll", "-p", port, "-e", "/bin/hostname"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]);
    for (name, document) in [("config.json", config), ("manifest.json", manifest)] {
        fs::write(dir.join(name), document.to_string()).expect("the host's directory can be written");
    }
    let archive = host.dir().join("image.tar");
    tar(host, &dir, &archive);
    archive
}

fn tar(host: &PrivateHost, dir: &Path, archive: &Path) {
    let words =
        ["tar".as_ref(), "-C".as_ref(), dir.as_os_str(), "-cf".as_ref(), archive.as_os_str(), ".".as_ref()];
    host.run(words);
}
