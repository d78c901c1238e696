//! A made-up node with a container.

use std::rc::Rc;

use cni_skel::testing::{DelegateCall, DelegateReply, Invocation, Outcome, conformance_of};
use cni_skel::types::Command;
use cni_skel::{Dispatcher, Plugin};
use plugin_support::firewall::Tools;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, LinkKind, NewLink};
use plugin_support::netns::NetNs;
use plugin_support::testing::{FakeKernel, ScriptedTools};
use serde_json::{Value, json};

/// Where the container's namespace is.
pub const NETNS: &str = "/run/netns/c1";

/// How a plugin is made for a node.
type Make<P> = fn(Rc<dyn Tools>, &FakeKernel) -> P;

/// A node, and a container at [`NETNS`].
#[derive(Debug)]
pub struct World<P> {
    /// Its kernel.
    pub fake: FakeKernel,
    tools: Rc<dyn Tools>,
    addresses: Value,
    make: Make<P>,
}

impl<P: Plugin> World<P> {
    /// A node on which plugins are made by `make`.
    pub fn new(make: Make<P>) -> Self {
        Self::on(FakeKernel::new(), make)
    }

    /// The same with this kernel.
    pub fn on(fake: FakeKernel, make: Make<P>) -> Self {
        fake.add_netns(NETNS);
        let addresses = json!({"ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}], "routes": [{"dst": "0.0.0.0/0"}]});
        Self { fake, tools: Rc::<ScriptedTools>::default(), addresses, make }
    }

    /// The programs that may be called.
    #[must_use]
    pub fn with_tools(mut self, tools: Rc<dyn Tools>) -> Self {
        self.tools = tools;
        self
    }

    /// What the IPAM plugin says.
    #[must_use]
    pub fn with_addresses(mut self, addresses: Value) -> Self {
        self.addresses = addresses;
        self
    }

    /// The plugin.
    pub fn plugin(&self) -> P {
        (self.make)(Rc::clone(&self.tools), &self.fake)
    }

    /// Runs it, with an IPAM plugin `host-local` that always says the same.
    pub fn run(&self, call: Invocation) -> Outcome {
        let addresses = self.addresses.clone();
        let call = call.delegate("host-local", move |call: &DelegateCall| match call.command() {
            Command::Add => call.reply(&addresses),
            _ => DelegateReply::nothing(),
        });
        call.run(&self.plugin())
    }

    /// ADD of the container's `eth0`.
    pub fn add(&self, config: &Value) -> Outcome {
        self.run(Invocation::add("c1", NETNS, "eth0").config(config))
    }

    /// CHECK after an ADD.
    pub fn check(&self, config: &Value, added: &Outcome) -> Outcome {
        self.run(Invocation::check("c1", NETNS, "eth0").config(config).prev_result(added.json()))
    }

    /// DEL.
    pub fn del(&self, config: &Value) -> Outcome {
        self.run(Invocation::del("c1", "eth0").netns(NETNS).config(config))
    }

    /// The container's namespace.
    ///
    /// # Panics
    ///
    /// When it is gone.
    pub fn container(&self) -> NetNs {
        Kernel::from(&self.fake).netns(NETNS).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The links of the host.
    ///
    /// # Panics
    ///
    /// Never on a made-up kernel.
    pub fn host(&self) -> Handle {
        self.fake.host().netlink().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The links of the container.
    ///
    /// # Panics
    ///
    /// When it is gone.
    pub fn inside(&self) -> Handle {
        self.container().netlink().unwrap_or_else(|error| panic!("{error}"))
    }

    /// What was changed, up to what differs from run to run: a text by which the kernel can be told to refuse it.
    pub fn changes(&self) -> Vec<String> {
        let stable = |line: &String| {
            // Names and indexes that are drawn or counted end it.
            let ends = ["veth", "(index", "tap", "\"cni"];
            let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
            line[..end].trim_end_matches(['"', ' ']).to_owned()
        };
        self.fake.log().iter().map(stable).collect()
    }

    /// Asserts that ADD is all or nothing, whatever request the kernel refuses, and that everything is possible after it.
    ///
    /// `others` are texts of requests that only read.
    ///
    /// # Panics
    ///
    /// When it is not.
    pub fn assert_all_or_nothing(new: impl Fn() -> Self, config: &Value, others: &[&str]) {
        let good = new();
        let before = good.seen();
        let links = good.fake.log().len();
        good.add(config).assert_success();
        let mut steps: Vec<String> = good.changes().split_off(links);
        steps.extend(others.iter().map(|step| (*step).to_owned()));
        steps.sort();
        steps.dedup();
        assert!(steps.len() > 3, "{steps:#?}");
        for step in &steps {
            let world = new();
            world.fake.refuse(step, 12);
            let outcome = world.add(config);
            let Some(error) = outcome.error() else { panic!("{step} was not needed") };
            assert!(error.msg.contains("cannot allocate memory"), "{step}: {error}");
            assert_eq!(world.seen(), before, "{step}");
            // Whatever was leased was given back.
            let calls = commands(&outcome);
            let count = |command| calls.iter().filter(|call| **call == command).count();
            assert_eq!(count(Command::Add), count(Command::Del), "{step}: {calls:?}");
            world.del(config).assert_success();
            let again = world.add(config);
            again.assert_success();
            world.check(config, &again).assert_success();
        }
    }

    /// Asserts that DEL removes everything, wherever ADD was killed.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_del_cleans_up_after_a_crash(new: impl Fn() -> Self, config: &Value) {
        let good = new();
        let before = good.seen();
        let links = good.fake.log().len();
        good.add(config).assert_success();
        for change in 0..good.fake.log().len() - links {
            let world = new();
            // Whatever it would undo stays.
            world.fake.die_after(change);
            world.add(config).assert_error(999);
            world.fake.revive();
            for _ in 0..2 {
                world.del(config).assert_success();
                assert_eq!(world.seen(), before, "{change}");
            }
            let again = world.add(config);
            again.assert_success();
            world.check(config, &again).assert_success();
        }
    }

    /// Asserts that DEL can be repeated, comes before any ADD, works without the namespace, and always lets the IPAM
    /// plugin take back what it gave.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_del_is_patient(new: impl Fn() -> Self, config: &Value) {
        let world = new();
        let before = world.seen();
        for added in [false, true, false] {
            if added {
                world.add(config).assert_success();
            }
            let outcome = world.del(config);
            outcome.assert_success();
            assert_eq!(outcome.stdout(), b"");
            assert_eq!(commands(&outcome), [Command::Del]);
            assert_eq!(world.seen(), before);
        }
        world.add(config).assert_success();
        world.fake.remove_netns(NETNS);
        for path in [None, Some(""), Some(NETNS), Some("/run/netns/long-gone")] {
            let call = Invocation::del("c1", "eth0").config(config);
            let call = if let Some(path) = path { call.netns(path) } else { call };
            let outcome = world.run(call);
            outcome.assert_success();
            assert_eq!(commands(&outcome), [Command::Del], "{path:?}");
        }
        assert_eq!(links(&world.host()), before.0);
    }

    /// Asserts that an interface whose name somebody else has is refused, and that to undo that does the other no harm.
    /// `second` is a configuration of another network.
    ///
    /// # Panics
    ///
    /// When something else happens.
    pub fn assert_taken_names_are_refused(&self, config: &Value, second: &Value) {
        let added = self.add(config);
        let outcome = self.add(second);
        let error = outcome.assert_error(999);
        let told = format!("failed to rename {} to \"eth0\": file exists", P::NAME);
        assert!(error.msg.starts_with(&told), "{error}");
        assert!(commands(&outcome).is_empty(), "nothing to give back");
        // A runtime undoes what failed.
        self.del(second).assert_success();
        self.check(config, &added).assert_success();
    }

    /// Asserts that DEL leaves a link alone that has the interface's name and is of a kind that the plugin does not make,
    /// inside the container, and on the host when nobody says where the container is.
    ///
    /// # Panics
    ///
    /// When such a link is gone, or is an error.
    pub fn assert_other_links_are_left_alone(&self, config: &Value) {
        for netlink in [self.inside(), self.host()] {
            netlink.create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap_or_else(|error| panic!("{error}"));
        }
        let call = || Invocation::del("c1", "eth0").config(config);
        for call in [call().netns(NETNS), call().netns(""), call()] {
            self.run(call).assert_success();
            for netlink in [self.inside(), self.host()] {
                assert!(links(&netlink).iter().any(|link| link == "eth0"));
            }
        }
    }

    /// Asserts that STATUS tells that the kernel lacks the driver of a kind of link, and which module has it. It makes
    /// nothing, whether or not the driver is there.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_status_tells_of_a_missing_driver(&self, config: &Value, kind: &str, module: &str) {
        let before = self.fake.log();
        let status = || self.run(Invocation::status().config(config));
        self.fake.refuse(format!("create {kind}"), 95);
        let outcome = status();
        let error = outcome.assert_error(50);
        let told = format!(
            "no {kind} link can be made: the kernel lacks the driver, which \"modprobe {module}\" loads"
        );
        assert!(error.msg.starts_with(&told), "{error}");
        status().assert_success();
        assert_eq!(self.fake.log(), before);
    }

    /// Asserts that GC asks the IPAM plugin, and succeeds without one.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_gc_asks_the_ipam_plugin(&self, config: &Value) {
        let outcome = self.run(Invocation::gc([]).config(config));
        outcome.assert_success();
        assert_eq!(commands(&outcome), [Command::Gc]);
        let mut alone = config.clone();
        alone["ipam"] = json!({});
        let outcome = self.run(Invocation::gc([]).config(&alone));
        outcome.assert_success();
        assert!(commands(&outcome).is_empty());
    }

    /// Asserts that the plugin does what the spec demands, as far as that can be told without a real kernel.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn assert_conforms(&self, config: &Value) {
        // Those that the checks name if they are given none.
        for number in 1..=2 {
            self.fake.add_netns(format!("/run/netns/conformance-{}-{number}", std::process::id()));
        }
        let (fake, make) = (self.fake.clone(), self.make);
        let respond = move |call| {
            let plugin = make(Rc::new(ScriptedTools::bare()), &fake);
            Dispatcher::new(&plugin).respond(call)
        };
        conformance_of(P::NAME, respond, config).run().assert_passes();
    }

    /// Links of the host and of the container.
    fn seen(&self) -> (Vec<String>, Vec<String>) {
        (links(&self.host()), links(&self.inside()))
    }
}

fn links(netlink: &Handle) -> Vec<String> {
    let links = netlink.links().unwrap_or_else(|error| panic!("{error}"));
    links.into_iter().map(|link| link.name).collect()
}

/// The addresses of a link.
///
/// # Panics
///
/// When there is no such link.
pub fn addresses(netlink: &Handle, link: &str) -> Vec<String> {
    let link = netlink.link(link).unwrap_or_else(|error| panic!("{error}"));
    let addresses = netlink.addresses(&link).unwrap_or_else(|error| panic!("{error}"));
    addresses.iter().map(|address| address.network.to_string()).collect()
}

/// The commands that the IPAM plugin was called for.
pub fn commands(outcome: &Outcome) -> Vec<Command> {
    outcome.delegate_calls().iter().map(DelegateCall::command).collect()
}
