//! One run: calls are made through it, every answer is kept, and what checks found is gathered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cni_invoke::{Environment, Invocation, RunError, Until};
use cni_types::{CniVersion, Command, VersionedResult, env};
use serde_json::{Map, Value};

use crate::catalog::Check;
use crate::delegate::Delegate;
use crate::exchange::{Answer, Exchange};
use crate::kernel::{Kernel, Links};
use crate::report::{CheckReport, Finding, Outcome};
use crate::request::Request;
use crate::setup::{Conformance, Kind, PROTOCOL, made_up_netns};

/// A variable of no protocol, which delegates have to receive all the same.
pub(crate) const MARK: (&str, &str) = ("CONFORMANCE_MARK", "passed on");

/// A run of the checks against one plugin.
pub(crate) struct Session<'a> {
    pub(crate) setup: &'a Conformance<'a>,
    pub(crate) kind: Kind,
    /// The namespace that the plugin is given, if it is real and can be entered.
    pub(crate) kernel: Result<Kernel, String>,
    /// The recorded delegate; `None` when the configuration names none, the reason when it cannot be had.
    pub(crate) delegate: Option<Result<Delegate, String>>,
    netns: [PathBuf; 2],
    ifname: String,
    log: RefCell<Vec<Arc<Exchange>>>,
    verdicts: RefCell<BTreeMap<&'static str, Verdict>>,
    containers: Cell<usize>,
    /// How many calls had to be stopped.
    stopped: AtomicU32,
    /// Whether what DEL leaves behind makes the next ADD fail.
    is_littered: Cell<bool>,
}

/// What is known of a check so far.
#[derive(Default)]
struct Verdict {
    looked_at: usize,
    findings: Vec<Finding>,
    skipped: Option<String>,
}

/// A container and an interface that the plugin is told of.
#[derive(Clone, Debug)]
pub(crate) struct Attachment {
    pub(crate) container_id: String,
    pub(crate) ifname: String,
    pub(crate) netns: PathBuf,
    /// What ADD printed.
    pub(crate) result: Option<Value>,
    /// The interfaces of the namespace before ADD; `None` without an ADD, after which nothing is the plugin's.
    pub(crate) before: Option<Links>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(setup: &'a Conformance<'a>) -> Self {
        let kernel = match &setup.netns {
            None => Err("needs a real network namespace".to_owned()),
            Some(netns) => Kernel::open(netns),
        };
        let first = setup.netns.clone().unwrap_or_else(|| made_up_netns(1));
        let second = match (&setup.second_netns, &setup.netns) {
            (Some(second), _) => second.clone(),
            (None, Some(first)) => first.clone(),
            (None, None) => made_up_netns(2),
        };
        let taken = kernel.as_ref().ok().and_then(|kernel| kernel.links().ok()).unwrap_or_default();
        Self {
            kind: setup.kind(),
            delegate: setup.delegate().map(|plugin| Delegate::install(setup, &plugin)),
            ifname: setup.ifname.clone().unwrap_or_else(|| default_ifname(setup, &taken)),
            setup,
            kernel,
            netns: [first, second],
            log: RefCell::default(),
            stopped: AtomicU32::new(0),
            verdicts: RefCell::default(),
            containers: Cell::new(0),
            is_littered: Cell::new(false),
        }
    }

    /// The recorded delegate, if there is one.
    pub(crate) fn recorder(&self) -> Option<&Delegate> {
        self.delegate.as_ref()?.as_ref().ok()
    }

    /// The namespaces: of one container, and of another.
    pub(crate) fn netns(&self) -> &[PathBuf; 2] {
        &self.netns
    }

    /// Whether two containers can be attached at the same time.
    pub(crate) fn has_two(&self) -> Result<(), &'static str> {
        let shared = self.setup.netns.is_some() && self.netns[0] == self.netns[1];
        if shared && self.kind == Kind::Chained {
            Err("needs a second network namespace: the interface of the first is one container's")
        } else {
            Ok(())
        }
    }

    // Calls

    /// A new container. Those with odd numbers are in the second namespace; of several in the same namespace, each has
    /// another interface name.
    pub(crate) fn container(&self, number: usize) -> Attachment {
        let count = self.containers.get() + 1;
        self.containers.set(count);
        let netns = self.netns[number % 2].clone();
        let namespaces = if self.netns[0] == self.netns[1] { 1 } else { 2 };
        let ifname = if number < namespaces { self.ifname.clone() } else { self.other_ifname(number) };
        Attachment {
            container_id: format!("conformance-{}-{count}", std::process::id()),
            ifname,
            netns,
            result: None,
            before: None,
        }
    }

    /// Another interface of the same container.
    pub(crate) fn other_ifname(&self, number: usize) -> String {
        format!("cf{number}")
    }

    /// A call as a runtime makes it.
    pub(crate) fn request(&self, command: Command, version: CniVersion, at: Option<&Attachment>) -> Request {
        let mut config = self.setup.config.clone();
        config.insert("cniVersion".to_owned(), version.as_str().into());
        let prev_result = config.remove("prevResult");
        let mut request = Request::new(command, config).set(env::PATH, self.search_path());
        let Some(at) = at else { return request };
        request = request
            .set(env::CONTAINER_ID, &at.container_id)
            .set(env::NETNS, &at.netns)
            .set(env::IFNAME, &at.ifname)
            .set(env::ARGS, self.setup.args.to_string());
        if !self.setup.capabilities.is_empty() {
            request = request.key("runtimeConfig", self.setup.capabilities.clone());
        }
        // From 0.4.0 on the result of ADD is given to the later commands; prevResult itself is older.
        match (command, &at.result, prev_result) {
            (Command::Add, _, Some(prev_result)) => {
                request.key("prevResult", self.adapted(&prev_result, version, at))
            }
            (Command::Check | Command::Del, Some(result), _) if version >= CniVersion::V0_4_0 => {
                request.key("prevResult", result.clone())
            }
            _ => request,
        }
    }

    /// The `prevResult` of the configuration in a version, with the container's namespace in it.
    fn adapted(&self, prev_result: &Value, version: CniVersion, at: &Attachment) -> Value {
        let declared = self.setup.config.get("cniVersion").and_then(Value::as_str).unwrap_or_default();
        let declared = declared.parse().unwrap_or(CniVersion::NEWEST);
        let json = prev_result.to_string();
        let converted = VersionedResult::decode_with_default(declared, json.as_bytes())
            .ok()
            .and_then(|result| result.convert(version).ok())
            .and_then(|result| serde_json::to_value(&result).ok());
        let mut adapted = converted.unwrap_or_else(|| prev_result.clone());
        let interfaces = adapted.get_mut("interfaces").and_then(Value::as_array_mut);
        for sandbox in interfaces.into_iter().flatten().filter_map(|interface| interface.get_mut("sandbox")) {
            if sandbox.as_str().is_some_and(|sandbox| !sandbox.is_empty()) {
                *sandbox = at.netns.display().to_string().into();
            }
        }
        adapted
    }

    /// The value for `CNI_PATH`. Never empty: plugins built on Go's library want one.
    fn search_path(&self) -> std::ffi::OsString {
        match (self.recorder(), &self.setup.search_path) {
            (Some(delegate), _) => delegate.search_path.to_text(),
            (None, Some(search_path)) => search_path.to_text(),
            (None, None) => self.setup.program.parent().unwrap_or(&self.setup.program).into(),
        }
    }

    /// Makes a call and keeps it.
    pub(crate) fn call(&self, request: &Request) -> Arc<Exchange> {
        let exchange = Arc::new(self.prepared(request).make());
        self.log.borrow_mut().push(Arc::clone(&exchange));
        exchange
    }

    /// Makes calls at the same time and keeps them.
    pub(crate) fn call_together(&self, requests: &[Request]) -> Vec<Arc<Exchange>> {
        let prepared: Vec<_> = requests.iter().map(|request| self.prepared(request)).collect();
        let start = std::sync::Barrier::new(prepared.len());
        let exchanges: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = prepared
                .iter()
                .map(|call| {
                    scope.spawn(|| {
                        start.wait();
                        Arc::new(call.make())
                    })
                })
                .collect();
            let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|made| made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        self.log.borrow_mut().extend(exchanges.iter().cloned());
        exchanges
    }

    fn prepared(&self, request: &Request) -> Prepared<'_> {
        let variables: Vec<_> = [(env::COMMAND, request.command.clone().into())]
            .into_iter()
            .chain(request.variables.iter().cloned())
            .collect();
        let mut environment = self.setup.environment.clone();
        PROTOCOL.iter().for_each(|name| environment.remove(name));
        environment.set(MARK.0, MARK.1);
        for (name, value) in &variables {
            environment.set(*name, value.clone());
        }
        Prepared {
            setup: self.setup,
            stopped: &self.stopped,
            command: request.command.clone(),
            variables,
            environment,
            stdin: request.stdin(),
        }
    }

    /// Every answer so far.
    pub(crate) fn log(&self) -> Vec<Arc<Exchange>> {
        self.log.borrow().clone()
    }

    /// ADD as a runtime makes it; the attachment keeps the result.
    pub(crate) fn add(&self, version: CniVersion, at: &mut Attachment) -> Arc<Exchange> {
        at.before = Some(self.links());
        let exchange = self.call(&self.request(Command::Add, version, Some(at)));
        at.result = exchange.object().map(|object| Value::Object(object.clone()));
        exchange
    }

    /// DEL as a runtime makes it, whose answer nobody judges; and whatever the plugin leaves behind in the kernel is
    /// removed, so that one fault is one finding.
    pub(crate) fn release(&self, version: CniVersion, at: &Attachment) {
        self.call(&self.request(Command::Del, version, Some(at)));
        if let Ok(kernel) = &self.kernel {
            for name in self.made(at) {
                if let Some(link) = self.links().get(&name) {
                    // Nobody could do more about it.
                    let _ = kernel.delete(*link);
                }
            }
        }
    }

    /// The interfaces of the namespace, if it is real.
    pub(crate) fn links(&self) -> Links {
        self.kernel.as_ref().ok().and_then(|kernel| kernel.links().ok()).unwrap_or_default()
    }

    /// The interfaces in the container that ADD made, as far as the result tells them or they have the name asked for.
    pub(crate) fn made(&self, at: &Attachment) -> Vec<String> {
        let Some(before) = at.before.as_ref().filter(|_| at.netns == self.netns[0]) else {
            return Vec::new();
        };
        let links = self.links();
        let mut names = self.told_in_container(at);
        names.push(at.ifname.clone());
        names.retain(|name| links.contains_key(name) && !before.contains_key(name));
        names
    }

    /// The names of the interfaces that the result places in the container.
    pub(crate) fn told_in_container(&self, at: &Attachment) -> Vec<String> {
        let interfaces = at.result.as_ref().and_then(|result| result["interfaces"].as_array());
        let inside = |interface: &&Value| interface["sandbox"].as_str() == at.netns.to_str();
        let names = interfaces
            .into_iter()
            .flatten()
            .filter(inside)
            .filter_map(|interface| interface["name"].as_str());
        names.map(str::to_owned).collect()
    }

    /// From now on, an ADD that fails says nothing of itself.
    pub(crate) fn litter(&self) {
        self.is_littered.set(true);
    }

    pub(crate) fn is_littered(&self) -> bool {
        self.is_littered.get()
    }

    /// Why what needs an attached container is skipped.
    pub(crate) fn not_added(&self) -> &'static str {
        if self.is_littered() {
            "what DEL leaves behind makes ADD fail: see del-undoes"
        } else {
            "ADD fails: see add-succeeds"
        }
    }

    // Verdicts

    /// An answer was as a check wants it.
    pub(crate) fn pass(&self, check: &'static Check) {
        self.verdicts.borrow_mut().entry(check.id).or_default().looked_at += 1;
    }

    /// An answer was not.
    pub(crate) fn fail(&self, check: &'static Check, reason: impl Into<String>, exchange: &Exchange) {
        let reason = match &exchange.config_version {
            Some(version) => format!("{} in {version}: {}", exchange.command, reason.into()),
            None => format!("{}: {}", exchange.command, reason.into()),
        };
        let finding = Finding { reason, sent: exchange.sent(), received: exchange.received() };
        self.verdicts.borrow_mut().entry(check.id).or_default().findings.push(finding);
    }

    /// The check cannot be made. Only counts if no answer was looked at.
    pub(crate) fn skip(&self, check: &'static Check, reason: impl Into<String>) {
        self.verdicts.borrow_mut().entry(check.id).or_default().skipped.get_or_insert_with(|| reason.into());
    }

    /// Passes or fails.
    pub(crate) fn judge(&self, check: &'static Check, exchange: &Exchange, verdict: Result<(), String>) {
        match verdict {
            Ok(()) => self.pass(check),
            Err(reason) => self.fail(check, reason, exchange),
        }
    }

    /// The call has to succeed.
    pub(crate) fn expect_success(&self, check: &'static Check, exchange: &Exchange) -> bool {
        let succeeded = exchange.succeeded();
        self.judge(check, exchange, if succeeded { Ok(()) } else { Err(exchange.told()) });
        succeeded
    }

    /// The call, which succeeded, has to have printed nothing.
    pub(crate) fn expect_silence(&self, check: &'static Check, exchange: &Exchange) {
        if exchange.is_impure() {
            self.skip(check, "stdout is no JSON: see stdout-pure");
        } else {
            let silent = if exchange.is_silent() { Ok(()) } else { Err("it printed something".to_owned()) };
            self.judge(check, exchange, silent);
        }
    }

    /// The call has to fail with a code. An error that does not tell one is another check's business.
    pub(crate) fn expect_code(&self, check: &'static Check, exchange: &Exchange, code: u64, what: &str) {
        match exchange.answer() {
            Answer::Error(object) => match object.get("code").and_then(Value::as_u64) {
                Some(found) if found == code => self.pass(check),
                Some(found) => {
                    let told = exchange.told();
                    self.fail(check, format!("{what}: code {found} instead of {code}: {told}"), exchange);
                }
                None => self.skip(check, "no error object has a code: see error-object"),
            },
            Answer::Success(_) => self.fail(check, format!("{what} was accepted"), exchange),
            Answer::Failure | Answer::Broken(_) => {
                self.skip(
                    check,
                    "what has to be refused is refused without an error object: see error-object",
                );
            }
        }
    }

    /// What came of every check.
    pub(crate) fn into_reports(self) -> Vec<CheckReport> {
        let mut verdicts = self.verdicts.into_inner();
        let report = |check: &&'static Check| {
            let verdict = verdicts.remove(check.id).unwrap_or_default();
            let exception = self.setup.exceptions.iter().find(|(except, _)| except.id == check.id);
            let outcome = match (exception, verdict.findings.is_empty(), verdict.looked_at) {
                (Some((_, reason)), ..) => Outcome::Skipped { reason: reason.clone() },
                (None, false, _) => Outcome::Failed { findings: verdict.findings },
                (None, true, 0) => Outcome::Skipped {
                    reason: verdict.skipped.unwrap_or_else(|| "no call could tell".to_owned()),
                },
                (None, true, looked_at) => Outcome::Passed { looked_at },
            };
            CheckReport::new(check, outcome)
        };
        Check::ALL.iter().map(report).collect()
    }
}

/// A call that can be made on any thread.
struct Prepared<'s> {
    setup: &'s Conformance<'s>,
    stopped: &'s AtomicU32,
    command: String,
    variables: Vec<(&'static str, std::ffi::OsString)>,
    environment: Environment,
    stdin: Vec<u8>,
}

impl Prepared<'_> {
    fn make(&self) -> Exchange {
        let stopped = self.stopped.load(Ordering::Relaxed);
        let until = Until::timeout(patience(self.setup.timeout, stopped));
        // What the plugin is asked for stands in its environment; this is for scripts, which know the real ones alone.
        let command = self.command.parse().unwrap_or(Command::Version);
        let invocation = Invocation::new(&self.setup.plugin, &self.setup.program, command, &self.environment)
            .with_stdin(&self.stdin)
            .with_until(&until);
        let outcome = self.setup.exec.run(&invocation);
        if let Err(RunError::Interrupted { .. }) = &outcome {
            self.stopped.fetch_add(1, Ordering::Relaxed);
        }
        let variables = self.variables.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        Exchange::new(&self.command, variables, &self.stdin, outcome)
    }
}

/// How long a call may take when so many had to be stopped: of a plugin that hangs there should be a report, too.
fn patience(timeout: Duration, stopped: u32) -> Duration {
    let shortest = Duration::from_secs(1).min(timeout);
    let share = 4_u32.saturating_pow(stopped);
    (timeout / share).max(shortest)
}

/// The interface that a chained plugin finds; for others, a name that is free.
fn default_ifname(setup: &Conformance<'_>, taken: &Links) -> String {
    let empty = Map::new();
    let prev_result = setup.config.get("prevResult").and_then(Value::as_object).unwrap_or(&empty);
    let interfaces = prev_result.get("interfaces").and_then(Value::as_array).into_iter().flatten();
    let inside =
        |interface: &&Value| interface["sandbox"].as_str().is_some_and(|sandbox| !sandbox.is_empty());
    if let Some(name) =
        interfaces.filter(inside).filter_map(|interface| interface["name"].as_str()).next_back()
    {
        return name.to_owned();
    }
    (0..).map(|number| format!("eth{number}")).find(|name| !taken.contains_key(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_hangs_is_waited_for_less_and_less() {
        let minute = Duration::from_secs(60);
        let waits: Vec<_> = (0..5).map(|stopped| patience(minute, stopped).as_millis()).collect();
        assert_eq!(waits, [60_000, 15_000, 3_750, 1_000, 1_000]);
        assert_eq!(patience(minute, u32::MAX), Duration::from_secs(1));
        assert_eq!(patience(Duration::from_millis(1), 9), Duration::from_millis(1));
    }
}
