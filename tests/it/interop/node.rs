//! A node whose runtime is `cnitool`: a private host with one of the networks.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::netns::{Neighbour, Netns};
use cni_tests::private_host::{Background, HostCommand, PrivateHost, Ran};
use serde_json::{Value, json};

/// Go's plugins.
pub(super) const GOS: [Plugin; 5] =
    [Go("bridge"), Go("host-local"), Go("static"), Go("tuning"), Go("portmap")];

/// The same of ours.
pub(super) const OURS: [Plugin; 5] =
    [Ours("bridge"), Ours("host-local"), Ours("static"), Ours("tuning"), Ours("portmap")];

/// The port of the host that tests publish.
pub(super) const PORT: &str = "8080";

/// A network, as the file of its configuration has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Network {
    /// The bridge is the containers' gateway, and hides them behind the host.
    Gateway,
    /// The bridge connects containers, and a chain is behind it. The host takes part if somebody gives the bridge an
    /// address.
    Pod,
    /// As [`Gateway`](Self::Gateway), with addresses that the runtime chooses.
    Chosen,
}

impl Network {
    pub(super) fn conflist(self) -> Value {
        let text = match self {
            Self::Gateway => {
                r#"{"cniVersion":"1.0.0","name":"mynet","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.1.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}},{"type":"portmap","capabilities":{"portMappings":true}}]}"#
            }
            Self::Chosen => {
                r#"{"cniVersion":"1.0.0","name":"chosen","plugins":[{"type":"bridge","bridge":"cni0","isDefaultGateway":true,"ipMasq":true,"capabilities":{"ips":true},"ipam":{"type":"static"}},{"type":"portmap","capabilities":{"portMappings":true}}]}"#
            }
            Self::Pod => {
                r#"{"cniVersion":"1.0.0","name":"pod-network","plugins":[{"type":"bridge","bridge":"cni0","ipam":{"type":"host-local","subnet":"10.244.0.0/16"}},{"type":"tuning"},{"type":"portmap","capabilities":{"portMappings":true}}]}"#
            }
        };
        serde_json::from_str(text).unwrap()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gateway => "mynet",
            Self::Pod => "pod-network",
            Self::Chosen => "chosen",
        }
    }

    /// What addresses of the network start with, and what they end with.
    pub(super) fn subnet(self) -> (&'static str, &'static str) {
        match self {
            Self::Gateway | Self::Chosen => ("10.244.1.", "/24"),
            Self::Pod => ("10.244.0.", "/16"),
        }
    }

    /// The address of the host that containers of the network reach.
    pub(super) fn host(self) -> &'static str {
        match self {
            Self::Gateway | Self::Chosen => Neighbour::HOST[0],
            Self::Pod => "10.244.255.254",
        }
    }

    /// Whether the bridge is the containers' gateway.
    pub(super) fn has_gateway(self) -> bool {
        matches!(self, Self::Gateway | Self::Chosen)
    }

    /// A container's routes, beside the one to the network itself.
    pub(super) fn routes(self) -> &'static [&'static str] {
        match self {
            Self::Gateway | Self::Chosen => &["default via 10.244.1.1 dev eth0"],
            Self::Pod => &[],
        }
    }
}

/// The addresses that the runtime chooses for containers.
const CHOSEN: [(&str, &str); 3] =
    [("one", "10.244.1.101/24"), ("published", "10.244.1.7/24"), ("three", "10.244.1.33/24")];

/// A private host with a network.
pub(super) struct Node {
    pub(super) host: PrivateHost,
    pub(super) network: Network,
    pub(super) neighbour: Neighbour,
}

/// A container: a namespace, and what answers in it.
pub(super) struct Container {
    pub(super) name: &'static str,
    pub(super) netns: Netns,
    service: Background,
}

impl Node {
    /// A node with `first` installed, that may get any of `others`; `None` where the test is skipped.
    pub(super) fn start(network: Network, first: &[Plugin], others: &[Plugin]) -> Option<Self> {
        // In this order: those that are installed in the end are the first.
        let plugins = [&[Ours("cnitool")], others, first].concat();
        let host = PrivateHost::start(&["busybox", "ping"], &plugins)?;
        host.add_network(&network.conflist());
        let neighbour = host.neighbour();
        Some(Self { host, network, neighbour })
    }

    /// A container that answers on port 80 with its name.
    pub(super) fn container(&self, name: &'static str) -> Container {
        let netns = self.host.netns(name);
        netns.run(&["ip", "link", "set", "lo", "up"]);
        let service = netns.command(&["busybox", "nc", "-ll", "-p", "80", "-e", "/bin/echo", name]).spawn();
        Container { name, netns, service }
    }

    /// The host takes part in a network of which it is not the gateway.
    pub(super) fn join(&self) {
        if self.network.has_gateway() {
            return;
        }
        let link: Value = self.host.run(["ip", "-j", "link", "show", "cni0"]).json();
        // Or else it would change with the bridge's ports.
        self.host.run(["ip", "link", "set", "cni0", "address", link[0]["address"].as_str().unwrap()]);
        self.host.run(["ip", "addr", "add", &format!("{}/16", self.network.host()), "dev", "cni0"]);
        self.host.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    }

    /// Runs `command` for a container. The one called `published` has a port of the host.
    pub(super) fn cnitool(&self, command: &str, container: &Container) -> HostCommand {
        self.cnitool_at(command, &[&container.netns.path()])
    }

    pub(super) fn cnitool_at(&self, command: &str, netns: &[&Path]) -> HostCommand {
        let words = ["/opt/cni/bin/cnitool", command, self.network.name()].map(str::as_ref);
        let command = self.host.command(words.into_iter().chain(netns.iter().map(|path| path.as_os_str())));
        let [path] = netns else { return command };
        let mut capabilities = json!({});
        if path.ends_with("test-published") {
            capabilities["portMappings"] =
                json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]);
        }
        if matches!(self.network, Network::Chosen) {
            let at = CHOSEN.iter().position(|(name, _)| path.ends_with(format!("test-{name}"))).unwrap();
            capabilities["ips"] = json!([CHOSEN[at].1]);
        }
        command.env("CAP_ARGS", capabilities.to_string())
    }

    /// ADD, whose result must be what the kernel has.
    pub(super) fn add(&self, container: &Container) -> Value {
        let result = self.cnitool("add", container).run().json();
        self.assert_attached(container, &result);
        result
    }

    fn assert_attached(&self, container: &Container, result: &Value) {
        let names = |index: usize| result["interfaces"][index]["name"].as_str().unwrap();
        assert_eq!((names(0), names(2)), ("cni0", "eth0"), "{result:#}");
        assert_eq!(result["interfaces"][2]["sandbox"], container.netns.path().to_str().unwrap());
        let on_host: Value = self.host.run(["ip", "-j", "link", "show", names(1)]).json();
        assert_eq!(on_host[0]["master"], "cni0");
        assert_eq!(on_host[0]["address"], result["interfaces"][1]["mac"]);
        let bridge: Value = self.host.run(["ip", "-j", "link", "show", "cni0"]).json();
        assert_eq!(bridge[0]["address"], result["interfaces"][0]["mac"]);

        let eth0: Value = container.netns.run(&["ip", "-j", "-4", "addr", "show", "eth0"]).json();
        let link: Value = container.netns.run(&["ip", "-j", "link", "show", "eth0"]).json();
        assert_eq!(link[0]["address"], result["interfaces"][2]["mac"]);
        let found = &eth0[0]["addr_info"][0];
        let found = format!("{}/{}", found["local"].as_str().unwrap(), found["prefixlen"]);
        assert_eq!(result["ips"][0]["address"], found);
        let (start, end) = self.network.subnet();
        assert!(found.starts_with(start) && found.ends_with(end), "{found}");
        if matches!(self.network, Network::Chosen) {
            assert!(CHOSEN.contains(&(container.name, found.as_str())), "{found}");
        }

        let routes = container.netns.run(&["ip", "-4", "route"]).stdout;
        let (own, others): (Vec<&str>, Vec<&str>) =
            routes.lines().map(str::trim).partition(|route| route.contains("proto kernel"));
        assert_eq!((own.len(), others), (1, self.network.routes().to_vec()), "{routes}");
        let gateway = self.host.run(["ip", "-4", "addr", "show", "cni0"]).stdout;
        assert_eq!(gateway.contains("10.244.1.1/24"), self.network.has_gateway(), "{gateway}");
    }

    /// Asserts that the published port answers with the container's name to everyone who can reach the host.
    pub(super) fn assert_published(&self, container: &Container, other: &Container) {
        let dial = |address| ["busybox", "nc", "-w", "5", address, PORT];
        let mut calls =
            vec![self.host.command(dial("127.0.0.1")), other.netns.command(&dial(self.network.host()))];
        if self.network.has_gateway() {
            calls.push(self.host.command(dial(Neighbour::HOST[0])));
            calls.push(self.neighbour.netns.command(&dial(Neighbour::HOST[0])));
        }
        for call in calls {
            let ran = call.attempt();
            assert_eq!(ran.stdout.trim(), container.name, "{ran}");
        }
    }

    /// Asserts that nothing answers on the published port.
    pub(super) fn assert_not_published(&self) {
        let ran = self.host.command(["busybox", "nc", "-w", "5", "127.0.0.1", PORT]).attempt();
        assert!(!ran.success() && ran.stdout.is_empty(), "{ran}");
    }
}

impl Container {
    /// Asserts that an answer comes from the address of `other`'s result.
    pub(super) fn assert_reaches(&self, other: &Value) {
        let address = other["ips"][0]["address"].as_str().unwrap().split_once('/').unwrap().0;
        self.ping(address);
    }

    /// Ends its process and removes its namespace, without a DEL.
    pub(super) fn die(self, node: &Node) {
        let name = format!("test-{}", self.name);
        node.host.run(["bash", "-c", r#"kill -KILL $(ip netns pids "$0")"#, &name]);
        self.service.wait();
        let links = || {
            let links: Value = node.host.run(["ip", "-j", "link", "show", "type", "veth"]).json();
            links.as_array().map_or(0, Vec::len)
        };
        let before = links();
        self.netns.remove();
        // The kernel removes what was in a namespace some time after it, and a bridge whose port goes may change its address.
        let deadline = Instant::now() + Duration::from_secs(30);
        while links() >= before {
            assert!(Instant::now() < deadline, "the link of {name} outlives its namespace");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn ping(&self, address: &str) -> Ran {
        self.netns.run(&["ping", "-c", "1", "-w", "10", address])
    }
}
