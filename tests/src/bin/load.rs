//! A runtime under load: so many cycles of ADD, CHECK and DEL by so many threads at once, with our libcni as the caller, and
//! what came of them as one JSON object. It runs on a private host, in namespaces that the test has made.
//!
//! `load CYCLES THREADS NETWORK`: thread `n` has the namespace `/run/netns/test-n` and a port of the host. The network's
//! addresses are host-local's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libcni::{Client, Network, RuntimeConf};
use serde_json::json;

/// The host's port of the first thread.
const FIRST_PORT: usize = 20_000;

/// Where host-local notes who has an address.
const STORE: &str = "/var/lib/cni/networks";

/// How many failures are told in full.
const TOLD: usize = 5;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (written, code) = match run(&args) {
        Ok(report) => (writeln!(std::io::stdout(), "{report}"), ExitCode::SUCCESS),
        Err(error) => (writeln!(std::io::stderr(), "load: {error}"), ExitCode::FAILURE),
    };
    if written.is_ok() { code } else { ExitCode::FAILURE }
}

fn run(args: &[String]) -> Result<serde_json::Value, Failure> {
    let [cycles, threads, network] = args else { return Err("usage: load CYCLES THREADS NETWORK".into()) };
    let (cycles, threads): (usize, usize) = (cycles.parse()?, threads.parse()?);
    let load = Load {
        client: Client::builder().timeout(Duration::from_secs(120)).build(),
        network: Network::load("/etc/cni/net.d", network)?,
        store: Path::new(STORE).join(network),
        cycles,
        started: AtomicUsize::new(0),
        held: Mutex::default(),
        seen: Mutex::default(),
    };
    let fds_before = open_files()?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let load = &load;
            scope.spawn(move || load.work(thread));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let (fds_after, seen) = (open_files()?, load.seen.into_inner()?);
    Ok(json!({
        "cycles": seen.cycles,
        "failures": seen.failures,
        "told": seen.told,
        "twice": seen.twice,
        "addresses": seen.addresses,
        "heldAtOnce": seen.held_at_once,
        "fds": [fds_before, fds_after],
        "seconds": seconds,
    }))
}

struct Load {
    client: Client,
    network: Network,
    store: PathBuf,
    cycles: usize,
    started: AtomicUsize,
    /// Which container has an address now.
    held: Mutex<BTreeMap<String, String>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    cycles: usize,
    failures: usize,
    told: Vec<String>,
    /// Addresses that two containers had at once, be the other that of another runtime.
    twice: Vec<String>,
    addresses: BTreeSet<String>,
    held_at_once: usize,
}

impl Load {
    fn work(&self, thread: usize) {
        loop {
            let cycle = self.started.fetch_add(1, Ordering::Relaxed);
            if cycle >= self.cycles {
                return;
            }
            let outcome = self.cycle(thread, cycle);
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.cycles += 1;
            if let Err(error) = outcome {
                seen.failures += 1;
                if seen.told.len() < TOLD {
                    seen.told.push(format!("cycle {cycle}: {error}"));
                }
            }
        }
    }

    fn cycle(&self, thread: usize, cycle: usize) -> Result<(), Failure> {
        let id = format!("c{cycle}");
        let ports = json!([{"hostPort": FIRST_PORT + thread, "containerPort": 80, "protocol": if thread.is_multiple_of(2) { "tcp" } else { "udp" }}]);
        let rt = RuntimeConf::new(id.clone(), "eth0")?
            .with_netns(format!("/run/netns/test-{thread}"))
            .with_capability("portMappings", &ports)?;
        let added = self.client.add(&self.network, &rt).map_err(|error| told("ADD", &error));
        let added = match added {
            Ok(added) => added.into_add_result(),
            Err(error) => {
                let _ = self.client.del(&self.network, &rt);
                return Err(error.into());
            }
        };
        let addresses: Vec<String> = added.ips.iter().map(|ip| ip.address.to_string()).collect();
        self.hold(&addresses, &id);
        let checked = self.client.check(&self.network, &rt).map_err(|error| told("CHECK", &error));
        self.let_go(&addresses, &id);
        self.client.del(&self.network, &rt).map_err(|error| told("DEL", &error))?;
        Ok(checked?)
    }

    fn hold(&self, addresses: &[String], id: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for address in addresses {
            if let Some(other) = held.insert(address.clone(), id.to_owned()) {
                seen.twice.push(format!("{address}: {other} and {id}"));
            }
            seen.addresses.insert(address.clone());
            seen.twice.extend(self.other_holder(address, id));
        }
        seen.held_at_once = seen.held_at_once.max(held.len());
    }

    fn let_go(&self, addresses: &[String], id: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for address in addresses {
            held.remove(address);
            seen.twice.extend(self.other_holder(address, id));
        }
    }

    /// Who has the address by the store, if that is not `id`: another runtime's containers are not in `held`.
    fn other_holder(&self, address: &str, id: &str) -> Option<String> {
        let file = self.store.join(address.split('/').next().unwrap_or_default());
        let holder = std::fs::read_to_string(file).unwrap_or_else(|error| error.to_string());
        (holder.lines().next() != Some(id)).then(|| format!("{address}: {id}, and by the store {holder:?}"))
    }
}

/// An error and its causes on one line.
fn told(command: &str, error: &dyn std::error::Error) -> String {
    let mut text = format!("{command}: {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

/// How many files this process has open.
fn open_files() -> std::io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}
