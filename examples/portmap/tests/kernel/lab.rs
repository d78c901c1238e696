//! A host with a bridge, two containers on it, and a machine outside.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cni_skel::testing::{Invocation, Outcome};
use plugin_support::firewall::{Call, SystemTools, Tools};
use plugin_support::kernel::Kernel;
use plugin_support::netns::NetNs;
use plugin_support::testing::{TestNetns, skip};
use portmap::Portmap;
use serde_json::{Value, json};

/// How long a connection may take before the test has failed. What is not forwarded is refused at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// The backends, as configurations name them.
pub(crate) const BACKENDS: [&str; 2] = ["iptables", "nftables"];

/// The host's addresses on the network outside.
pub(crate) const HOST: [&str; 2] = ["192.0.2.1", "2001:db8::1"];

pub(crate) struct Lab {
    pub(crate) host: TestNetns,
    pub(crate) c1: TestNetns,
    pub(crate) c2: TestNetns,
    pub(crate) outside: TestNetns,
    /// For records.
    pub(crate) dir: tempfile::TempDir,
    /// Where programs are looked for.
    pub(crate) tools: SystemTools,
}

impl Lab {
    /// Everything, unless root or a program is missing.
    pub(crate) fn new() -> Option<Self> {
        Self::with(SystemTools::default(), &["iptables-restore", "ip6tables-restore", "nft"])
    }

    /// The same with these programs.
    pub(crate) fn with(tools: SystemTools, programs: &[&str]) -> Option<Self> {
        for program in programs {
            if tools.run(&Call::new(*program, ["--version"])).is_err() {
                skip(&format!("no program {program:?}"));
                return None;
            }
        }
        let (host, c1, c2, outside) =
            (TestNetns::new()?, TestNetns::new()?, TestNetns::new()?, TestNetns::new()?);
        for netns in [&host, &c1, &c2, &outside] {
            netns.ip("link set lo up");
            // The kernel asks for a neighbour only once its own address has been found to be nobody else's.
            netns.sysctl().write("net.ipv6.conf.default.accept_dad", "0").unwrap();
        }
        host.ip("link add br0 type bridge");
        host.ip("link set br0 up");
        addresses(&host, "br0", ["10.2.0.1/24", "fd00:2::1/64"]);
        for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            host.sysctl().write(key, "1").unwrap();
        }
        for (netns, port, addrs) in
            [(&c1, "veth1", ["10.2.0.2/24", "fd00:2::2/64"]), (&c2, "veth2", ["10.2.0.3/24", "fd00:2::3/64"])]
        {
            connect(&host, port, netns, "eth0");
            host.ip(&format!("link set {port} master br0"));
            host.ip(&format!("link set {port} type bridge_slave hairpin on"));
            addresses(netns, "eth0", addrs);
            netns.ip("route add default via 10.2.0.1");
            netns.ip("-6 route add default via fd00:2::1");
        }
        connect(&host, "out0", &outside, "eth0");
        addresses(&host, "out0", ["192.0.2.1/24", "2001:db8::1/64"]);
        addresses(&outside, "eth0", ["192.0.2.2/24", "2001:db8::2/64"]);
        let dir = tempfile::tempdir().unwrap();
        Some(Self { host, c1, c2, outside, dir, tools })
    }

    /// A configuration of the plugin with these keys.
    pub(crate) fn config(&self, keys: &Value) -> Value {
        let mut config =
            json!({"cniVersion": "1.1.0", "name": "net1", "type": "portmap", "dataDir": self.dir.path()});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    }

    /// Makes a call on the host.
    pub(crate) fn run(&self, invocation: Invocation) -> Outcome {
        let tools = self.tools.clone();
        // A plugin is for one thread.
        self.host.run(|| invocation.run(&Portmap::on(std::rc::Rc::new(tools), Kernel::default()))).unwrap()
    }

    /// ADD for the first container, by way of an interface that is another one for each name.
    pub(crate) fn add(&self, id: &str, keys: &Value, mappings: &Value) -> Invocation {
        self.add_to(&self.c1, id, C1, keys, mappings)
    }

    pub(crate) fn add_to(
        &self,
        netns: &TestNetns,
        id: &str,
        addresses: [&str; 2],
        keys: &Value,
        mappings: &Value,
    ) -> Invocation {
        Invocation::add(id, netns.path(), "eth0")
            .config(self.config(keys))
            .prev_result(result(addresses))
            .capability("portMappings", mappings)
    }

    pub(crate) fn check(&self, id: &str, keys: &Value, mappings: &Value) -> Invocation {
        Invocation::check(id, self.c1.path(), "eth0")
            .config(self.config(keys))
            .prev_result(result(C1))
            .capability("portMappings", mappings)
    }

    pub(crate) fn del(&self, id: &str, keys: &Value) -> Invocation {
        Invocation::del(id, "eth0").config(self.config(keys))
    }

    /// The containers' rules that there are: lines of both backends and families that are not shared by all.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let is_own = |line: &&str| {
            let of_iptables = line.contains("CNI-DN-") || line.contains("CNI-SN-");
            let of_nftables = line.contains(" comment \"") && !line.contains("CNI portmap plugin");
            of_iptables || (of_nftables && line.contains("dnat") | line.contains("masquerade"))
        };
        let all = [self.saved("iptables-save"), self.saved("ip6tables-save"), self.nft()].concat();
        let mut files: Vec<_> =
            std::fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.retain(|name| name != "lock");
        all.lines()
            .filter(is_own)
            .map(str::to_owned)
            .chain(files.into_iter().map(|name| name.into_string().unwrap()))
            .collect()
    }

    /// What a program of `iptables` shows of the table, without counters and comments.
    pub(crate) fn saved(&self, program: &str) -> String {
        let call = Call::new(program, ["--table", "nat"]);
        let outcome = self.host.run(|| self.tools.run(&call)).unwrap();
        let Ok(outcome) = outcome else { return String::new() };
        outcome.stdout.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
    }

    /// What `nft` shows of the plugin's tables.
    pub(crate) fn nft(&self) -> String {
        let list = |family: &str| {
            let call = Call::new("nft", ["list", "table", family, "cni_hostport"]);
            self.host.run(|| self.tools.run(&call)).unwrap().map(|outcome| outcome.stdout).unwrap_or_default()
        };
        format!("{}{}", list("ip"), list("ip6"))
    }
}

/// The first container's addresses.
pub(crate) const C1: [&str; 2] = ["10.2.0.2/24", "fd00:2::2/64"];
/// The second one's.
pub(crate) const C2: [&str; 2] = ["10.2.0.3/24", "fd00:2::3/64"];

/// What a plugin that has made the interface would say.
pub(crate) fn result(addresses: [&str; 2]) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "/run/netns/x"}],
        "ips": addresses.map(|address| json!({"interface": 1, "address": address})),
    })
}

/// Serves TCP on a port of both families, from now on: says its name and whom it sees.
pub(crate) fn serve(netns: &NetNs, port: u16, name: &'static str) {
    let listener = netns.run(|| TcpListener::bind(("::", port))).unwrap().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let peer = stream.peer_addr().unwrap().ip().to_canonical();
            // Who asks may have gone.
            let _ = write!(stream, "{name} sees {peer}");
        }
    });
}

/// What a server says when it is connected to from somewhere.
pub(crate) fn ask(from: &NetNs, to: &str) -> io::Result<String> {
    let to: SocketAddr = to.parse().unwrap();
    from.run(|| {
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    })
    .unwrap()
}

/// Runs Go's plugin on the host and gives its stdout, or what it failed with; `None` after saying that it is not here.
pub(crate) fn go(lab: &Lab, command: &str, id: &str, config: &Value) -> Option<Result<String, String>> {
    go_with(lab, command, id, config, None)
}

/// The same with programs of this directory alone.
pub(crate) fn go_with(
    lab: &Lab,
    command: &str,
    id: &str,
    config: &Value,
    programs: Option<&Path>,
) -> Option<Result<String, String>> {
    const PLUGIN: &str = "/usr/lib/cni/portmap";
    if !Path::new(PLUGIN).exists() {
        skip(&format!("no program {PLUGIN:?} (Debian: containernetworking-plugins)"));
        return None;
    }
    let mut config = config.clone();
    // The newest that Debian's release knows.
    config["cniVersion"] = json!("1.0.0");
    if !config["prevResult"].is_null() {
        config["prevResult"]["cniVersion"] = json!("1.0.0");
    }
    let mut plugin = Command::new(PLUGIN);
    plugin
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", id)
        .env("CNI_NETNS", lab.c1.path())
        .env("CNI_IFNAME", "eth0")
        .env("CNI_PATH", "/usr/lib/cni")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(programs) = programs {
        plugin.env("PATH", programs);
    }
    let mut child = lab.host.run(|| plugin.spawn()).unwrap().unwrap();
    child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    Some(if output.status.success() { Ok(stdout) } else { Err(stdout) })
}

/// Runs a program on the host with this on stdin.
pub(crate) fn feed(lab: &Lab, program: &str, args: &[&str], stdin: &str) {
    let call = Call::new(program, args.iter().copied()).stdin(stdin);
    let outcome = lab.host.run(|| lab.tools.run(&call)).unwrap().unwrap();
    assert!(outcome.success, "{call}: {}\n{stdin}", outcome.stderr);
}

fn connect(host: &TestNetns, port: &str, netns: &TestNetns, name: &str) {
    let pid_path = netns.path().to_str().unwrap().to_owned();
    // `/proc/PID/ns/net`
    let pid = pid_path.split('/').nth(2).unwrap();
    host.ip(&format!("link add {port} type veth peer name {name} netns {pid}"));
    host.ip(&format!("link set {port} up"));
    netns.ip(&format!("link set {name} up"));
}

fn addresses(netns: &TestNetns, link: &str, addresses: [&str; 2]) {
    let [v4, v6] = addresses;
    netns.ip(&format!("addr add {v4} dev {link}"));
    // Nobody else has it.
    netns.ip(&format!("addr add {v6} dev {link} nodad"));
}
