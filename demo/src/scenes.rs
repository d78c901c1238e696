//! The demo's scenes: loopback by itself, then a chain as in the field.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use libcni::{Client, Network, RuntimeConf};
use plugin_support::firewall::SystemTools;
use plugin_support::netns::NetNs;
use serde_json::{Value, json};

use crate::kernel::Snapshot;
use crate::lab::Lab;
use crate::print::{self, Narrator};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The container's ID.
const CONTAINER: &str = "demo-container";

/// The published port of the host, and the container's.
const HOST_PORT: u16 = 8080;
const CONTAINER_PORT: u16 = 80;

pub(crate) fn play(lab: &Lab) -> Outcome {
    print::say(
        "Everything below happens in two fresh network namespaces: one plays the host, one is the container.",
    );
    print::say("The machine's own network is not touched.");
    loopback(lab)?;
    chain(lab)?;
    print::title("Done");
    print::say(
        "The same plugins run under containerd, CRI-O, podman and Nomad; see README.md for where to read on.",
    );
    Ok(())
}

/// Runs one step and says what it changed.
fn step<T>(lab: &Lab, what: &str, run: impl FnOnce() -> Outcome<T>) -> Outcome {
    print::title(what);
    let before = Snapshot::take(lab.container())?;
    run()?;
    print::changes(&Snapshot::take(lab.container())?.since(&before));
    Ok(())
}

fn client(lab: &Lab) -> Client {
    Client::builder()
        .plugin_dirs([lab.bin()])
        .cache_dir(lab.path("cache"))
        .observer(Arc::new(Narrator::default()))
        .build()
}

fn network(lab: &Lab, config: &Value) -> Outcome<Network> {
    let dir = lab.path("net.d");
    std::fs::create_dir_all(&dir)?;
    let name = config["name"].as_str().unwrap_or_default();
    std::fs::write(dir.join(format!("10-{name}.conflist")), config.to_string())?;
    Ok(Network::load(&dir, name)?)
}

fn loopback(lab: &Lab) -> Outcome {
    let client = client(lab);
    let network =
        network(lab, &json!({"cniVersion": "1.0.0", "name": "lo", "plugins": [{"type": "loopback"}]}))?;
    let rt = RuntimeConf::new(CONTAINER, "lo")?.with_netns(lab.container().display().to_string());
    step(lab, "loopback: VERSION, what the plugin supports", || {
        Ok(client.version_info(network.plugins()[0].plugin_type())?)
    })?;
    step(lab, "loopback: ADD", || Ok(client.add(&network, &rt)?))?;
    step(lab, "loopback: CHECK, that it is still so", || Ok(client.check(&network, &rt)?))?;
    step(lab, "loopback: DEL", || Ok(client.del(&network, &rt)?))
}

fn chain(lab: &Lab) -> Outcome {
    let mut plugins = json!([
        {
            "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
            "ipam": {
                "type": "host-local", "dataDir": lab.path("addresses"),
                "ranges": [[{"subnet": "10.244.1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}],
            },
        },
        {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}, "mtu": 1400, "dataDir": lab.path("tuning")},
    ]);
    let has_firewall = print_firewall();
    if has_firewall && let Some(plugins) = plugins.as_array_mut() {
        plugins.push(json!({"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}));
    }
    let client = client(lab);
    let network = network(lab, &json!({"cniVersion": "1.1.0", "name": "pod-network", "plugins": plugins}))?;
    let published = json!([{"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "tcp"}]);
    let rt = RuntimeConf::new(CONTAINER, "eth0")?
        .with_netns(lab.container().display().to_string())
        .with_capability("portMappings", &published)?;

    step(lab, "chain: STATUS, whether ADD can succeed", || Ok(client.status(&network)?))?;
    let mut address = None;
    step(lab, "chain: ADD, forwards", || {
        let result = client.add_or_undo(&network, &rt)?.into_add_result();
        address = result.ips.first().map(|ip| ip.address.address());
        Ok(())
    })?;
    step(lab, "chain: CHECK", || Ok(client.check(&network, &rt)?))?;
    if let Some(address) = address {
        print::title("Traffic");
        converse(lab, (address, CONTAINER_PORT).into(), "the container's address")?;
        if has_firewall {
            let gateway = "10.244.1.1".parse::<std::net::IpAddr>()?;
            converse(lab, (gateway, HOST_PORT).into(), "the published port of the host")?;
        }
    }
    step(lab, "chain: GC, with the container among the valid ones", || {
        Ok(client.gc(&network, &[rt.attachment()])?)
    })?;
    step(lab, "chain: DEL, backwards", || Ok(client.del(&network, &rt)?))?;
    step(lab, "chain: DEL again, which must succeed, too", || Ok(client.del(&network, &rt)?))
}

/// Whether ports can be published here; says so if not.
fn print_firewall() -> bool {
    let tools = SystemTools::default();
    let has = ["iptables", "nft"].iter().any(|tool| tools.find(tool).is_ok());
    if !has {
        print::say("\nNeither iptables nor nft is installed: portmap is left out of the chain.");
    }
    has
}

/// Lets a server in the container answer a client on the host.
fn converse(lab: &Lab, to: std::net::SocketAddr, what: &str) -> Outcome {
    const WORD: &[u8] = b"hello from the container";
    let netns = NetNs::open(lab.container())?;
    let listener = netns.run(|| TcpListener::bind(("0.0.0.0", CONTAINER_PORT)))??;
    let server = thread::spawn(move || listener.accept().and_then(|(mut peer, _)| peer.write_all(WORD)));
    let mut heard = Vec::new();
    TcpStream::connect_timeout(&to, std::time::Duration::from_secs(5))?.read_to_end(&mut heard)?;
    server.join().map_err(|_| "the server panicked")??;
    print::say(&format!("host -> {to} ({what}): {:?}", String::from_utf8_lossy(&heard)));
    if heard == WORD { Ok(()) } else { Err(format!("{what} answers with something else").into()) }
}
