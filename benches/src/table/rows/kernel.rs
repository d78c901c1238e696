//! bridge, host-local and portmap on the real kernel, in a network namespace of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::table::Bench;
use crate::table::builds::go_plugin;
use crate::table::measure::{Program, Sample, each};
use crate::table::report::{Goal, Report, time};
use crate::table::stats::median;

/// The word by which this program starts itself in its own namespaces.
pub(crate) const INSIDE: &str = "inside";

const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

pub(crate) fn run(bench: &Bench, report: &mut Report) {
    let Ok(go) = go_plugin("bridge") else {
        report.paragraph("bridge + host-local + portmap is left out: Go's plugins are not installed.");
        return;
    };
    let plan = json!({"ours": bench.programs.plugin_dir(), "go": go.parent(), "rounds": bench.rounds(40)});
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--propagation", "private", "--"])
        .arg(std::env::current_exe().unwrap())
        .args([INSIDE, &plan.to_string()])
        .env("PATH", PATH)
        .output()
        .unwrap();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        // The first line of a panic is where it was.
        let mut lines = why.lines().filter(|line| !line.is_empty() && !line.starts_with("thread "));
        let why = lines.next().unwrap_or("no namespace can be made");
        report.paragraph(&format!("bridge + host-local + portmap is left out: {why}"));
        return;
    }
    let told: Vec<Vec<[f64; 3]>> = serde_json::from_slice(&output.stdout).unwrap();
    let samples: Vec<Vec<Sample>> = told
        .into_iter()
        .map(|list| list.into_iter().map(|[wall, cpu, system]| Sample { wall, cpu, system }).collect())
        .collect();
    report.comparisons(
        "bridge + host-local + portmap on the real kernel (gateway, masquerade, one published port)",
    );
    for (name, ours, theirs) in [("ADD of the chain", 0, 2), ("DEL of the chain", 1, 3)] {
        report.compare(name, "Go's plugins", &samples[ours], &samples[theirs], Goal::Faster(2.0));
    }
    report.section("Of which CPU time in the kernel", &["", "ours", "Go's"]);
    for (name, ours, theirs) in [("ADD", 0, 2), ("DEL", 1, 3)] {
        let told = |samples: &[Sample]| {
            let [cpu, system] = [each(samples, |s| s.cpu), each(samples, |s| s.system)].map(median);
            format!("{} of {}", time(system), time(cpu))
        };
        report.row(&[name, &told(&samples[ours]), &told(&samples[theirs])]);
    }
}

/// What runs in the namespace: prints the samples of our ADD, our DEL, Go's ADD and Go's DEL.
pub(crate) fn inside(plan: &str) {
    let plan: Value = serde_json::from_str(plan).unwrap();
    tool("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
    // Not /var/lib/cni, which a machine need not have.
    tool("mount", &["-t", "tmpfs", "tmpfs", "/var/lib"]);
    tool("ip", &["link", "set", "lo", "up"]);
    let rounds = plan["rounds"].as_u64().unwrap();
    let sides = ["ours", "go"].map(|side| Side::new(side, Path::new(plan[side].as_str().unwrap())));
    let mut samples = vec![Vec::new(); 4];
    for round in 0..=rounds {
        for (index, side) in sides.iter().enumerate() {
            tool("ip", &["netns", "add", "bench"]);
            let (add, del) = side.attach();
            tool("ip", &["netns", "del", "bench"]);
            if round > 0 {
                samples[2 * index].push(add);
                samples[2 * index + 1].push(del);
            }
        }
    }
    println!("{}", json!(samples));
}

fn tool(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// One side's plugins, on a bridge and a subnet of their own.
struct Side {
    name: &'static str,
    plugins: PathBuf,
}

impl Side {
    fn new(name: &'static str, plugins: &Path) -> Self {
        Self { name, plugins: plugins.to_owned() }
    }

    fn call(&self, plugin: &str, command: &str, prev_result: Option<&Value>) -> Program {
        let subnet = if self.name == "ours" { "10.77.0.0/24" } else { "10.78.0.0/24" };
        let mut config = match plugin {
            "bridge" => json!({
                "bridge": format!("{}0", self.name), "isGateway": true, "ipMasq": true,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": subnet}]], "routes": [{"dst": "0.0.0.0/0"}],
                         "dataDir": format!("/run/{}", self.name)},
            }),
            _ => {
                json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}})
            }
        };
        config["cniVersion"] = json!("1.0.0");
        config["name"] = json!(format!("bench-{}", self.name));
        config["type"] = json!(plugin);
        if let Some(result) = prev_result {
            config["prevResult"] = result.clone();
        }
        Program::new(self.plugins.join(plugin)).stdin(config.to_string()).env([
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", "bench"),
            ("CNI_NETNS", "/run/netns/bench"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_PATH", &self.plugins.to_string_lossy()),
            ("PATH", PATH),
        ])
    }

    /// What ADD and DEL of the chain take.
    fn attach(&self) -> (Added, Added) {
        let (bridge, printed) = self.call("bridge", "ADD", None).run();
        let result: Value = serde_json::from_str(&printed).unwrap();
        let (portmap, printed) = self.call("portmap", "ADD", Some(&result)).run();
        let result: Value = serde_json::from_str(&printed).unwrap();
        let add = sum(bridge, portmap);
        let (portmap, _) = self.call("portmap", "DEL", Some(&result)).run();
        let (bridge, _) = self.call("bridge", "DEL", Some(&result)).run();
        (add, sum(portmap, bridge))
    }
}

type Added = [f64; 3];

fn sum(one: Sample, other: Sample) -> Added {
    [one.wall + other.wall, one.cpu + other.cpu, one.system + other.system]
}
