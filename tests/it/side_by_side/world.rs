//! A private host with one set of plugins, on which the calls of a case are made.

use std::collections::BTreeMap;

use cni_tests::bins::Plugin::{self, Go, Ours};
use cni_tests::private_host::{PrivateHost, Ran};
use serde_json::{Value, json};

use super::case::{Call, Case, Suite};
use super::compare::{Failure, Step};
use super::snapshot::Snapshot;
use super::text::{is_random_mac, settled};

/// What scripts may call.
const PRELUDE: &str = "
# Removes a network namespace; the kernel takes its links away in the background.
remove_netns() {
    ip netns del $1
    for try in {1..1200}; do
        [[ $(ip -br link show type veth) ]] || return 0
        sleep 0.05
    done
    echo >&2 'the links of the namespace do not go'
    return 1
}
";

/// A private host with one set of plugins.
pub(super) struct World<'a> {
    host: PrivateHost,
    suite: &'a Suite,
    /// The results of ADD, as a runtime keeps them.
    results: BTreeMap<(&'static str, &'static str), Value>,
    /// The hardware addresses of the containers' links, and what they are called.
    macs: Vec<(String, String)>,
    /// What there was after the last call.
    left: Vec<String>,
}

impl<'a> World<'a> {
    pub(super) fn of_gos(suite: &'a Suite) -> Option<Self> {
        Self::of(suite, Go)
    }

    pub(super) fn of_ours(suite: &'a Suite) -> Option<Self> {
        Self::of(suite, Ours)
    }

    /// `None` where the test is skipped.
    fn of(suite: &'a Suite, kind: fn(&'static str) -> Plugin) -> Option<Self> {
        let plugins: Vec<_> = [suite.plugin].iter().chain(suite.delegates).map(|name| kind(name)).collect();
        let host = PrivateHost::start(&["awk"], &plugins)?;
        host.run(["bash", "-ec", suite.stage]);
        Some(Self { host, suite, results: BTreeMap::new(), macs: Vec::new(), left: Vec::new() })
    }

    /// Makes the calls of a case, and tells of each what came of it.
    pub(super) fn run(&mut self, case: &Case) -> Vec<Step> {
        self.results.clear();
        self.macs.clear();
        let steps = case.calls.iter().enumerate();
        steps
            .map(|(at, call)| self.call(format!("{} {} {}", at + 1, call.command, call.id), case, call))
            .collect()
    }

    /// What there is in `places`.
    pub(super) fn look(&self, places: &[&str]) -> Vec<String> {
        facts(&Snapshot::take(&self.host, places, self.suite.more))
    }

    /// What there was after the last call, as [`World::look`] tells it.
    pub(super) fn left(&self) -> &[String] {
        &self.left
    }

    fn call(&mut self, label: String, case: &Case, call: &Call) -> Step {
        if let Some(script) = call.before {
            let script = [PRELUDE, script].concat();
            self.host.command(["bash", "-ec", &script]).env("N1", "/var/lib/cni/networks/n1").run();
        }
        let ran = self.plugin(case, call);
        let snapshot = Snapshot::take(&self.host, &self.suite.places(case), self.suite.more);
        self.left = facts(&snapshot);
        for ((place, name), mac) in &snapshot.macs {
            if place != "host" && is_random_mac(mac) {
                self.macs.push((mac.clone(), format!("<mac of {place} {name}>")));
            }
        }
        let mut step = Step { label, ..Step::default() };
        step.lines.push(format!("exit = {}", ran.status.code().unwrap_or(-1)));
        match serde_json::from_str::<Value>(&ran.stdout) {
            Ok(error) if error.get("code").is_some() => {
                step.failure = Some(self.failure(&error, &mut step.lines));
            }
            Ok(answer) => {
                if call.command == "ADD" {
                    self.results.insert(call.attachment(), answer.clone());
                }
                flatten("result", &with_own_macs(answer, &snapshot), &mut step.lines);
            }
            Err(_) => step.lines.push(format!("stdout = {:?}", ran.stdout)),
        }
        step.lines.extend(snapshot.lines);
        for line in &mut step.lines {
            *line = settled(line, &self.macs);
        }
        step.lines.sort_unstable();
        step
    }

    fn failure(&self, error: &Value, lines: &mut Vec<String>) -> Failure {
        let text = |key: &str| settled(error[key].as_str().unwrap_or_default(), &self.macs);
        lines.push(format!("error.code = {}", error["code"]));
        if let Some(version) = error.get("cniVersion") {
            lines.push(format!("error.cniVersion = {version}"));
        }
        Failure { msg: text("msg"), details: text("details") }
    }

    fn plugin(&self, case: &Case, call: &Call) -> Ran {
        let mut envs = BTreeMap::from([
            ("CNI_COMMAND", call.command.to_owned()),
            ("CNI_CONTAINERID", call.id.to_owned()),
            ("CNI_NETNS", format!("/run/netns/{}", call.id)),
            ("CNI_IFNAME", "eth0".to_owned()),
            ("CNI_PATH", "/opt/cni/bin".to_owned()),
        ]);
        for (name, value) in &call.envs {
            match value {
                Some(value) => envs.insert(name, (*value).to_owned()),
                None => envs.remove(name),
            };
        }
        // By `env`, as `PATH` is not for what leads into the host.
        let words = envs.into_iter().map(|(name, value)| format!("{name}={value}"));
        let plugin = format!("/opt/cni/bin/{}", self.suite.plugin);
        let command = self.host.command(["env".to_owned()].into_iter().chain(words).chain([plugin]));
        let stdin = call.stdin.map_or_else(|| self.stdin(case, call).to_string(), str::to_owned);
        command.input(stdin).attempt()
    }

    /// The request that a runtime makes of the configuration.
    fn stdin(&self, case: &Case, call: &Call) -> Value {
        let mut stdin = json!({"cniVersion": "1.0.0", "name": "n1", "type": self.suite.plugin});
        let prev_result = match call.command {
            "ADD" => self.suite.prev_result.as_ref(),
            _ => self.results.get(&call.attachment()),
        };
        if let Some(result) = prev_result {
            stdin["prevResult"] = result.clone();
        }
        let object = stdin.as_object_mut().unwrap();
        for (key, value) in [&case.config, &call.keys].into_iter().flat_map(|keys| keys.as_object().unwrap())
        {
            if value.is_null() {
                object.remove(key);
            } else {
                object.insert(key.clone(), value.clone());
            }
        }
        stdin
    }
}

/// The lines of a snapshot, without what is random, in order.
fn facts(snapshot: &Snapshot) -> Vec<String> {
    let mut facts: Vec<_> = snapshot.lines.iter().map(|line| settled(line, &[])).collect();
    facts.sort_unstable();
    facts
}

/// A result in which the hardware addresses that are those of the links are called so.
fn with_own_macs(mut result: Value, snapshot: &Snapshot) -> Value {
    for interface in result.get_mut("interfaces").and_then(Value::as_array_mut).into_iter().flatten() {
        let text = |key: &str| interface[key].as_str().unwrap_or_default().to_owned();
        let place = match text("sandbox") {
            none if none.is_empty() => "host".to_owned(),
            sandbox => sandbox.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        let own = snapshot.macs.get(&(place, text("name")));
        if is_random_mac(&text("mac")) && own == Some(&text("mac")) {
            interface["mac"] = "<its own>".into();
        }
    }
    result
}

/// One line for each value of a document, with the path to it.
fn flatten(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            object.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, lines));
        }
        Value::Array(array) if !array.is_empty() => {
            array.iter().enumerate().for_each(|(at, value)| flatten(&format!("{path}[{at}]"), value, lines));
        }
        value => lines.push(format!("{path} = {value}")),
    }
}
