//! A made-up host with a container.

use std::rc::Rc;

use bridge::Bridge;
use cni_skel::testing::{DelegateCall, DelegateReply, Invocation, Outcome};
use cni_skel::types::Command;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link};
use plugin_support::netns::NetNs;
use plugin_support::testing::{FakeKernel, ScriptedTools};
use serde_json::{Value, json};

pub(crate) const NETNS: &str = "/run/netns/c1";

/// A host, and a container at [`NETNS`].
pub(crate) struct World {
    pub(crate) fake: FakeKernel,
    pub(crate) tools: Rc<ScriptedTools>,
    addresses: Value,
}

/// A configuration with these keys.
pub(crate) fn config(keys: &Value) -> Value {
    let mut config = json!({"cniVersion": "1.1.0", "name": "n1", "type": "bridge"});
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// The same with an IPAM plugin.
pub(crate) fn l3(keys: &Value) -> Value {
    let mut config = config(keys);
    config["ipam"] = json!({"type": "host-local"});
    config
}

impl World {
    pub(crate) fn new() -> Self {
        Self::on(FakeKernel::new())
    }

    pub(crate) fn on(fake: FakeKernel) -> Self {
        fake.add_netns(NETNS);
        let addresses =
            json!({"ips": [{"address": "10.1.0.5/24"}], "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]});
        Self { fake, tools: Rc::default(), addresses }
    }

    /// The programs that may be called, in order.
    pub(crate) fn with_tools(mut self, tools: ScriptedTools) -> Self {
        self.tools = Rc::new(tools);
        self
    }

    /// What the IPAM plugin says.
    pub(crate) fn with_addresses(mut self, addresses: Value) -> Self {
        self.addresses = addresses;
        self
    }

    pub(crate) fn plugin(&self) -> Bridge {
        Bridge::on(Rc::clone(&self.tools) as _, Kernel::from(&self.fake))
    }

    /// The IPAM plugin's answer to whatever it is called for.
    pub(crate) fn ipam(&self) -> impl Fn(&DelegateCall) -> DelegateReply + Send + Sync + use<> {
        let addresses = self.addresses.clone();
        move |call| match call.command() {
            Command::Add => call.reply(&addresses),
            _ => DelegateReply::nothing(),
        }
    }

    pub(crate) fn run(&self, call: Invocation) -> Outcome {
        call.delegate("host-local", self.ipam()).run(&self.plugin())
    }

    pub(crate) fn add(&self, config: &Value) -> Outcome {
        self.run(Invocation::add("c1", NETNS, "eth0").config(config))
    }

    pub(crate) fn check(&self, config: &Value, added: &Outcome) -> Outcome {
        self.run(Invocation::check("c1", NETNS, "eth0").config(config).prev_result(added.json()))
    }

    pub(crate) fn del(&self, config: &Value) -> Outcome {
        self.run(Invocation::del("c1", "eth0").netns(NETNS).config(config))
    }

    pub(crate) fn container(&self) -> NetNs {
        Kernel::from(&self.fake).netns(NETNS).unwrap()
    }

    /// The links of the host.
    pub(crate) fn host(&self) -> Handle {
        self.fake.host().netlink().unwrap()
    }

    /// The links of the container.
    pub(crate) fn inside(&self) -> Handle {
        self.container().netlink().unwrap()
    }

    /// The host's end of the container's pair.
    pub(crate) fn port(&self) -> Link {
        let eth0 = self.inside().link("eth0").unwrap();
        self.host().link_by_index(eth0.peer.unwrap()).unwrap()
    }

    /// The names of the host's links.
    pub(crate) fn host_links(&self) -> Vec<String> {
        self.host().links().unwrap().into_iter().map(|link| link.name).collect()
    }

    /// The addresses of a link of the host.
    pub(crate) fn host_addresses(&self, link: &str) -> Vec<String> {
        addresses(&self.host(), link)
    }

    /// A sysctl of the host.
    pub(crate) fn host_sysctl(&self, key: &str) -> String {
        self.fake.host().sysctl().read(key).unwrap()
    }

    /// A sysctl of the container.
    pub(crate) fn sysctl(&self, key: &str) -> String {
        self.container().sysctl().read(key).unwrap()
    }
}

pub(crate) fn addresses(netlink: &Handle, link: &str) -> Vec<String> {
    let link = netlink.link(link).unwrap();
    netlink.addresses(&link).unwrap().iter().map(|address| address.network.to_string()).collect()
}

/// The commands that the IPAM plugin was called for.
pub(crate) fn commands(outcome: &Outcome) -> Vec<Command> {
    outcome.delegate_calls().iter().map(DelegateCall::command).collect()
}

/// What was changed, without the names that are random.
pub(crate) fn log(world: &World) -> Vec<String> {
    world.fake.log().iter().map(|line| without_random(line)).collect()
}

fn without_random(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\"veth") {
        text.push_str(before);
        text.push_str("\"veth*");
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    text.push_str(rest);
    // The index of a link counts what was made before.
    let mut words: Vec<_> = text.split(' ').map(str::to_owned).collect();
    for index in 1..words.len() {
        if words[index - 1] == "(index" {
            words[index] =
                words[index].trim_start_matches(|c: char| c.is_ascii_digit()).replacen(')', "N)", 1);
        }
    }
    words.join(" ")
}
