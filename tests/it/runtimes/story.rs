//! What every runtime must achieve with every set of plugins: containers that reach each other and the world,
//! published ports that answer from everywhere, and nothing left when they are gone.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use cni_tests::bins::Plugin;
use cni_tests::netns::Neighbour;
use cni_tests::private_host::{Footprint, HostCommand, PrivateHost};
use cni_tests::runtimes::{Container, Runtime, SERVICE};
use serde_json::{Value, json};

/// The host's port that the story publishes.
const PORT: u16 = 8080;

/// Where the `tuning` plugin keeps what it changed; ADD needs it, DEL does not.
const TUNING_DIR: &str = "/run/test-tuning";

/// How long a service may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// An address family with the story's subnet in it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    fn subnet(self) -> &'static str {
        match self {
            Self::V4 => "10.244.1.0/24",
            Self::V6 => "fd00:244:1::/64",
        }
    }

    fn gateway(self) -> &'static str {
        match self {
            Self::V4 => "10.244.1.1",
            Self::V6 => "fd00:244:1::1",
        }
    }

    fn everything(self) -> &'static str {
        match self {
            Self::V4 => "0.0.0.0/0",
            Self::V6 => "::/0",
        }
    }

    /// Picks from a pair of addresses, version 4 first.
    fn of<'a>(self, pair: &[&'a str; 2]) -> &'a str {
        pair[self as usize]
    }

    /// The options of `ip` and the words in its output.
    fn ip_words(self) -> (&'static str, &'static str) {
        match self {
            Self::V4 => ("-4", "inet"),
            Self::V6 => ("-6", "inet6"),
        }
    }

    fn ping(self) -> &'static str {
        match self {
            Self::V4 => "ping",
            Self::V6 => "ping6",
        }
    }
}

/// The network `mynet`: a bridge with addresses of `families` that is the gateway and masquerades, and
/// published ports; `chained` plugins run in between.
pub(super) fn network(families: &[Family], chained: &[Value]) -> Value {
    let ranges: Vec<Value> = families.iter().map(|family| json!([{"subnet": family.subnet()}])).collect();
    let routes: Vec<Value> = families.iter().map(|family| json!({"dst": family.everything()})).collect();
    let mut plugins = vec![json!({
        "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
        "ipam": {"type": "host-local", "ranges": ranges, "routes": routes},
    })];
    plugins.extend_from_slice(chained);
    plugins.push(json!({"type": "portmap", "capabilities": {"portMappings": true}}));
    json!({"cniVersion": "1.0.0", "name": "mynet", "plugins": plugins})
}

/// The `tuning` plugin, with what [`assert_tuned`] looks for.
fn tuning() -> Value {
    json!({"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}, "mtu": 1400})
}

/// What is chained for a set of plugins: `tuning` if it is in the set.
fn chained(plugins: &[Plugin]) -> Vec<Value> {
    if has_tuning(plugins) { vec![tuning()] } else { Vec::new() }
}

fn has_tuning(plugins: &[Plugin]) -> bool {
    plugins.contains(&Plugin::Go("tuning")) || plugins.contains(&Plugin::Ours("tuning"))
}

/// The network with the nftables backends, which Debian's plugins do not know.
pub(super) fn by_nftables(mut conflist: Value) -> Value {
    for plugin in conflist["plugins"].as_array_mut().unwrap() {
        match plugin["type"].as_str() {
            Some("bridge") => plugin["ipMasqBackend"] = "nftables".into(),
            Some("portmap") => plugin["backend"] = "nftables".into(),
            _ => {}
        }
    }
    conflist
}

/// A host with `plugins` and the network `conflist` for the runtime `R`; `None` where the test is skipped.
pub(super) fn host<R: Runtime>(plugins: &[Plugin], conflist: &Value) -> Option<PrivateHost> {
    let host = PrivateHost::start(R::PROGRAMS, plugins)?;
    host.add_network(conflist);
    Some(host)
}

/// Tells the story with runtime `R`.
pub(super) fn tell<R: Runtime>(plugins: &[Plugin], families: &[Family]) {
    if let Some(host) = host::<R>(plugins, &network(families, &chained(plugins))) {
        tell_on::<R>(&host, plugins, families);
    }
}

/// Tells the story on `host`, which has the network already.
pub(super) fn tell_on<R: Runtime>(host: &PrivateHost, plugins: &[Plugin], families: &[Family]) {
    let neighbour = host.neighbour();
    let mut runtime = R::start(host.clone(), "mynet");
    runtime.run(&Container::named("c1").publish(PORT)).unwrap();
    runtime.run(&Container::named("c2")).unwrap();
    if has_tuning(plugins) {
        ["c1", "c2"].iter().for_each(|name| assert_tuned(&runtime, name));
    }

    for &family in families {
        let (one, two) = (address(&runtime, "c1", family), address(&runtime, "c2", family));
        assert_ne!(one, two);
        for (name, other) in [("c1", two), ("c2", one)] {
            assert_default_route(&runtime, name, family);
            for target in [other.to_string().as_str(), family.gateway(), family.of(&Neighbour::ITSELF)] {
                assert_pings(&runtime, name, family, target);
            }
        }
        assert_published(&runtime, &neighbour, family);
    }

    runtime.remove("c1").unwrap();
    let port = PORT.to_string();
    for &family in families {
        assert_pings(&runtime, "c2", family, family.gateway());
        let published = family.of(&Neighbour::HOST);
        assert_refused(neighbour.netns.command(&dial(published, &port)));
        assert_refused(host.command(dial(published, &port)));
    }
    runtime.remove("c2").unwrap();
    assert_nothing_left::<R>(host, plugins);
}

/// Tells of a container whose ADD fails at the chain's second plugin, when the first has connected it: the
/// runtime says why, nothing stays, and when the cause is gone, the next container gets on the network.
pub(super) fn tell_of_failure<R: Runtime>(plugins: &[Plugin]) {
    let tuning = json!({"type": "tuning", "mtu": 1400, "dataDir": TUNING_DIR});
    let Some(host) = host::<R>(plugins, &network(&[Family::V4], &[tuning])) else { return };
    let mut runtime = R::start(host.clone(), "mynet");

    // A file in the directory's place.
    host.run(["touch", TUNING_DIR]);
    let error = runtime.run(&Container::named("c1").publish(PORT)).unwrap_err();
    assert!(error.contains(TUNING_DIR), "{error}");
    assert_nothing_left::<R>(&host, plugins);

    host.run(["rm", TUNING_DIR]);
    runtime.run(&Container::named("c2").publish(PORT)).unwrap();
    assert_pings(&runtime, "c2", Family::V4, Family::V4.gateway());
    runtime.remove("c2").unwrap();
    assert_nothing_left::<R>(&host, plugins);
}

/// Tells of an operator who puts other plugins into the directory while containers run: what one set has made, the
/// other works with and takes down.
pub(super) fn tell_of_a_change<R: Runtime>(from: &[Plugin], to: &[Plugin]) {
    let families = [Family::V4, Family::V6];
    let Some(host) = host::<R>(from, &network(&families, &[tuning()])) else { return };
    let neighbour = host.neighbour();
    let mut runtime = R::start(host.clone(), "mynet");
    runtime.run(&Container::named("c1").publish(PORT)).unwrap();

    host.install_all(to);
    runtime.run(&Container::named("c2")).unwrap();
    for family in families {
        let other = address(&runtime, "c1", family).to_string();
        assert_pings(&runtime, "c2", family, &other);
        assert_published(&runtime, &neighbour, family);
    }
    ["c1", "c2"].iter().for_each(|name| assert_tuned(&runtime, name));
    runtime.remove("c1").unwrap();
    runtime.run(&Container::named("c1").publish(PORT)).unwrap();
    families.iter().for_each(|family| assert_published(&runtime, &neighbour, *family));

    host.install_all(from);
    runtime.remove("c1").unwrap();
    runtime.remove("c2").unwrap();
    let mut footprint = host.footprint();
    // Ours notes which ports it has forwarded, and Go's does not know of the note.
    footprint.records.retain(|path| !path.starts_with("/run/cni/portmap/"));
    assert_only_go_left::<R>(from, footprint);
}

fn assert_nothing_left<R: Runtime>(host: &PrivateHost, plugins: &[Plugin]) {
    assert_only_go_left::<R>(plugins, host.footprint());
}

/// Asserts that nothing is left but what Go's plugins leave on a DEL without a namespace: its bridge looks there for the
/// addresses whose masquerade it ends, and its tuning for the link that it restores.
fn assert_only_go_left<R: Runtime>(plugins: &[Plugin], mut left: Footprint) {
    if !R::DEL_HAS_NETNS && plugins.contains(&Plugin::Go("bridge")) {
        let is_masquerade = |rule: &String| {
            rule.ends_with("-j MASQUERADE")
                || rule.ends_with("-j ACCEPT")
                || rule.contains("POSTROUTING -s")
                || rule.starts_with(':')
        };
        assert!(!left.rules.is_empty() && left.rules.iter().all(is_masquerade), "{left:#?}");
        left.rules.clear();
    }
    if !R::DEL_HAS_NETNS && plugins.contains(&Plugin::Go("tuning")) {
        left.records.retain(|path| !path.starts_with("/run/cni/tuning/"));
    }
    assert_eq!(left, Footprint::default(), "attachments left something behind");
}

/// Asserts that the container is as [`tuning`] says.
fn assert_tuned<R: Runtime>(runtime: &R, name: &str) {
    let link = runtime.exec(name, &["ip", "link", "show", "eth0"]);
    assert!(link.stdout.contains(" mtu 1400 "), "{name}: {link}");
    let backlog = runtime.exec(name, &["cat", "/proc/sys/net/core/somaxconn"]);
    assert_eq!(backlog.stdout.trim(), "500", "{name}: {backlog}");
}

/// The container's address, which is the only one of global scope in the family and lies in the network's
/// subnet.
pub(super) fn address<R: Runtime>(runtime: &R, name: &str, family: Family) -> IpAddr {
    let (option, word) = family.ip_words();
    let ran = runtime.exec(name, &["ip", option, "-o", "addr", "show", "dev", "eth0", "scope", "global"]);
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    let addresses: Vec<&str> = words.windows(2).filter(|pair| pair[0] == word).map(|pair| pair[1]).collect();
    let [address] = addresses[..] else { panic!("{name} should have one address: {ran}") };

    let (subnet, length) = family.subnet().split_once('/').unwrap();
    let (ip, own_length) = address.split_once('/').unwrap();
    assert!(ip.starts_with(subnet.trim_end_matches('0').trim_end_matches(':')), "{ip} is not in {subnet}");
    assert_eq!(own_length, length);
    ip.parse().unwrap()
}

fn assert_default_route<R: Runtime>(runtime: &R, name: &str, family: Family) {
    let ran = runtime.exec(name, &["ip", family.ip_words().0, "route"]);
    let expected = format!("default via {} dev eth0", family.gateway());
    assert!(ran.stdout.contains(&expected), "{name} has no {expected:?}: {ran}");
}

fn assert_pings<R: Runtime>(runtime: &R, name: &str, family: Family, target: &str) {
    // Several tries: the first packet may be lost to neighbour discovery.
    let ran = runtime.exec(name, &[family.ping(), "-c", "1", "-w", "10", target]);
    assert!(ran.success(), "{name} does not reach {target}: {ran}");
}

/// The published port answers for the host itself, another machine, another container, and the container
/// itself.
fn assert_published<R: Runtime>(runtime: &R, neighbour: &Neighbour, family: Family) {
    let port = PORT.to_string();
    let published = dial(family.of(&Neighbour::HOST), &port);
    let host = runtime.host();
    assert_answers("c1", || host.command(published));
    assert_answers("c1", || neighbour.netns.command(&published));
    if matches!(family, Family::V4) {
        assert_answers("c1", || host.command(dial("127.0.0.1", &port)));
    }
    for name in ["c2", "c1"] {
        let ran = runtime.exec(name, &published[1..]);
        assert!(ran.stdout.trim() == "c1", "the published port does not answer {name}: {ran}");
    }
    let direct = address(runtime, "c1", family).to_string();
    let ran = runtime.exec("c2", &dial(&direct, &SERVICE.to_string())[1..]);
    assert!(ran.stdout.trim() == "c1", "the service does not answer: {ran}");
}

/// The words to open a TCP connection and print what comes.
pub(super) fn dial<'a>(address: &'a str, port: &'a str) -> [&'a str; 6] {
    ["busybox", "nc", "-w", "5", address, port]
}

/// Asks until the service of the container `name` listens: runtimes return when its process has started.
pub(super) fn assert_answers(name: &str, command: impl Fn() -> HostCommand) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ran = command().attempt();
        if ran.stdout.trim() == name {
            return;
        }
        assert!(Instant::now() < deadline, "{name} does not answer: {ran}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn assert_refused(command: HostCommand) {
    let ran = command.attempt();
    assert!(ran.stdout.is_empty() && !ran.success(), "the port is still published: {ran}");
}
