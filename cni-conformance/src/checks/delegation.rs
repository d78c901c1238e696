//! What a plugin does with its IPAM plugin, as that one sees it.

use std::io;
use std::sync::Arc;

use cni_types::{CniVersion, Command, env};
use serde_json::Value;

use super::results::none_of;
use super::upkeep::gc;
use crate::catalog::{
    Check, IPAM_CHECK, IPAM_CONFIG, IPAM_DEL, IPAM_ENV, IPAM_ERRORS, IPAM_FAILED_ADD, IPAM_GC, IPAM_INDEXES,
    IPAM_RESULT, IPAM_SEARCH_PATH, IPAM_STATUS, IPAM_STDERR,
};
use crate::delegate::{Delegate, DelegateCall, STDERR_MARK};
use crate::exchange::Exchange;
use crate::request::Request;
use crate::session::{Attachment, MARK, Session};
use crate::shape;

const CHECKS: [&Check; 12] = [
    &IPAM_ENV,
    &IPAM_CONFIG,
    &IPAM_SEARCH_PATH,
    &IPAM_STDERR,
    &IPAM_RESULT,
    &IPAM_INDEXES,
    &IPAM_CHECK,
    &IPAM_DEL,
    &IPAM_GC,
    &IPAM_STATUS,
    &IPAM_ERRORS,
    &IPAM_FAILED_ADD,
];

pub(crate) fn run(session: &Session<'_>, version: CniVersion) {
    let skip_all = |reason: &str| CHECKS.iter().for_each(|check| session.skip(check, reason));
    let delegate = match &session.delegate {
        None => return skip_all("the configuration names no IPAM plugin to delegate to"),
        Some(Err(reason)) => return skip_all(reason),
        Some(Ok(delegate)) => delegate,
    };
    // It is our own directory that cannot be read or written then.
    if let Err(error) = (Delegation { session, version, delegate }).run() {
        skip_all(&format!("the delegate's calls cannot be recorded: {error}"));
    }
}

struct Delegation<'s> {
    session: &'s Session<'s>,
    version: CniVersion,
    delegate: &'s Delegate,
}

impl Delegation<'_> {
    fn run(&self) -> io::Result<()> {
        let (session, version) = (self.session, self.version);
        self.delegate.answer_in(version)?;
        self.delegate.take_calls()?;
        let mut at = session.container(0);
        at.before = Some(session.links());
        let request = session.request(Command::Add, version, Some(&at));
        let added = session.call(&request);
        at.result = added.object().map(|object| Value::Object(object.clone()));
        let calls = self.delegate.take_calls()?;
        let executed = calls.iter().find(|call| call.command == Command::Add.as_str());
        let skipped = match (added.succeeded(), executed) {
            (false, _) => Some(session.not_added()),
            (true, None) => Some("ADD does not execute the IPAM plugin that the configuration names"),
            (true, Some(executed)) => {
                self.passed_on(&request, &added, &calls);
                self.results(&added, executed);
                None
            }
        };
        if let Some(reason) = skipped {
            CHECKS.iter().for_each(|check| session.skip(check, reason));
        } else {
            self.forwarded(&at)?;
            self.failed_add()?;
            self.search_path();
        }
        session.release(version, &at);
        Ok(())
    }

    /// What the delegate was given is what the plugin was given.
    fn passed_on(&self, request: &Request, exchange: &Exchange, calls: &[DelegateCall]) {
        let sent: Value = serde_json::from_slice(&request.stdin()).unwrap_or_default();
        for call in calls {
            let mut expected: Vec<_> = request
                .variables
                .iter()
                .map(|(name, value)| (*name, value.to_string_lossy().into_owned()))
                .collect();
            expected.push((MARK.0, MARK.1.to_owned()));
            let differing: Vec<_> = expected
                .iter()
                .filter_map(|(name, value)| match call.environment.iter().find(|(known, _)| known == name) {
                    Some((_, found)) if found == value => None,
                    Some((_, found)) => Some(format!("the delegate got {name}={found}")),
                    None => Some(format!("the delegate did not get {name}")),
                })
                .collect();
            self.session.judge(&IPAM_ENV, exchange, none_of(&differing));
            let same = match call.config() {
                Some(config) if config == sent => Ok(()),
                _ => Err(format!("the delegate got {}", String::from_utf8_lossy(&call.stdin))),
            };
            self.session.judge(&IPAM_CONFIG, exchange, same);
        }
        if calls.is_empty() {
            return;
        }
        if self.session.setup.in_process {
            self.session.skip(&IPAM_STDERR, "the stderr of a plugin that is no process cannot be seen");
        } else {
            let mark = STDERR_MARK.as_bytes();
            let seen = exchange.stderr().windows(mark.len()).any(|part| part == mark);
            let reason = || Err(format!("the delegate wrote {STDERR_MARK:?} to its stderr"));
            self.session.judge(&IPAM_STDERR, exchange, if seen { Ok(()) } else { reason() });
        }
    }

    /// What the delegate gave is in the result.
    fn results(&self, added: &Exchange, executed: &DelegateCall) {
        let given = executed.result();
        let given = given.as_ref().and_then(Value::as_object).map(shape::addresses).unwrap_or_default();
        let (Some(result), false) = (added.object(), given.is_empty()) else {
            for check in [&IPAM_RESULT, &IPAM_INDEXES] {
                self.session.skip(check, "the IPAM plugin gave no address");
            }
            return;
        };
        let told = shape::addresses(result);
        let missing: Vec<_> = given
            .iter()
            .filter(|address| !told.contains(address))
            .map(|address| format!("the result does not have {address}"))
            .collect();
        self.session.judge(&IPAM_RESULT, added, none_of(&missing));
        if shape::list(result, "interfaces").is_empty() {
            self.session.skip(&IPAM_INDEXES, "the result has no interfaces");
            return;
        }
        let unowned: Vec<_> = shape::list(result, "ips")
            .iter()
            .filter(|ip| ip["interface"].is_null())
            .filter_map(|ip| ip["address"].as_str())
            .filter(|address| given.iter().any(|given| given == address))
            .map(|address| format!("{address} has no interface"))
            .collect();
        self.session.judge(&IPAM_INDEXES, added, none_of(&unowned));
    }

    /// The other commands reach the delegate, and its errors come back.
    fn forwarded(&self, at: &Attachment) -> io::Result<()> {
        let (session, version) = (self.session, self.version);
        let commands = [
            (Command::Check, &IPAM_CHECK, session.request(Command::Check, version, Some(at))),
            (Command::Status, &IPAM_STATUS, session.request(Command::Status, version, None)),
            (Command::Gc, &IPAM_GC, gc(session, version, &[at])),
            (Command::Del, &IPAM_DEL, session.request(Command::Del, version, Some(at))),
        ];
        for (command, check, request) in commands {
            if !command.exists_in(version) {
                continue;
            }
            // First with an error: after the DEL that succeeds there is nothing left to fail.
            let failed = self.delegate.failing(command, || session.call(&request))?;
            let was_executed = self.executed(command)?;
            if was_executed {
                self.error_returned(command, &failed);
            }
            let exchange = session.call(&request);
            let calls = self.delegate.take_calls()?;
            if !exchange.succeeded() {
                session.skip(check, format!("{command} fails"));
                continue;
            }
            let executed = calls.iter().any(|call| call.command == command.as_str());
            let reason = || Err("the delegate was not executed".to_owned());
            session.judge(check, &exchange, if executed { Ok(()) } else { reason() });
            self.passed_on(&request, &exchange, &calls);
        }
        Ok(())
    }

    fn executed(&self, command: Command) -> io::Result<bool> {
        Ok(self.delegate.take_calls()?.iter().any(|call| call.command == command.as_str()))
    }

    fn error_returned(&self, command: Command, exchange: &Exchange) {
        let returned = if exchange.succeeded() {
            Err(format!("the delegate failed {command}, and the plugin succeeded"))
        } else {
            Ok(())
        };
        self.session.judge(&IPAM_ERRORS, exchange, returned);
    }

    fn failed_add(&self) -> io::Result<()> {
        let (session, version) = (self.session, self.version);
        let mut at = session.container(0);
        let added: Arc<Exchange> = self.delegate.failing(Command::Add, || session.add(version, &mut at))?;
        let calls = self.delegate.take_calls()?;
        self.error_returned(Command::Add, &added);
        if !added.succeeded() {
            let undone = calls.iter().any(|call| call.command == Command::Del.as_str());
            let reason = || Err("the delegate failed ADD and was not executed with DEL".to_owned());
            session.judge(&IPAM_FAILED_ADD, &added, if undone { Ok(()) } else { reason() });
        }
        session.release(version, &at);
        self.delegate.take_calls()?;
        Ok(())
    }

    /// Where there is no delegate, none may be found.
    fn search_path(&self) {
        let (session, version) = (self.session, self.version);
        let mut at = session.container(0);
        at.before = Some(session.links());
        let request = session.request(Command::Add, version, Some(&at));
        let nowhere = self.delegate.empty_search_path().to_text();
        let added = session.call(&request.set(env::PATH, nowhere));
        let verdict = if added.succeeded() {
            Err("CNI_PATH has no delegate, and it succeeded".to_owned())
        } else {
            Ok(())
        };
        session.judge(&IPAM_SEARCH_PATH, &added, verdict);
        at.result = added.object().map(|object| Value::Object(object.clone()));
        session.release(version, &at);
    }
}
