//! The variables of a call, checked: the only place on the plugin's side that reads `CNI_*`.
//!
//! Everything that is missing or wrong is told in one error.

use std::ffi::OsStr;

use crate::call::Call;
use crate::netns::Netns;
use crate::types::{Command, ContainerId, ErrorCode, ErrorObject, InterfaceName, InvalidName, env};

/// What the environment says about the attachment.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) container_id: ContainerId,
    pub(crate) ifname: InterfaceName,
    /// Present for every command but DEL.
    pub(crate) netns: Option<Netns>,
}

/// The command of a call; `None` when nobody asked for one.
pub(crate) fn command(call: &Call) -> Result<Option<Command>, ErrorObject> {
    let Some(value) = set(call, env::COMMAND) else { return Ok(None) };
    let text = value.to_string_lossy();
    text.parse().map(Some).map_err(|error: crate::types::UnknownCommand| {
        let known = Command::ALL.map(Command::as_str).join(", ");
        ErrorObject::new(ErrorCode::INVALID_ENVIRONMENT, error.to_string())
            .with_details(format!("{} must be one of {known}", env::COMMAND))
    })
}

/// The attachment that ADD, CHECK and DEL are about.
pub(crate) fn attached(call: &Call, command: Command) -> Result<Attached, ErrorObject> {
    let mut faults = Faults::default();
    let container_id = faults.name(call, env::CONTAINER_ID, ContainerId::new);
    let netns = set(call, env::NETNS).map(Netns::new);
    if netns.is_none() && command != Command::Del {
        faults.missing.push(env::NETNS);
    }
    let ifname = faults.name(call, env::IFNAME, InterfaceName::new);
    match (container_id, ifname, faults.into_error()) {
        (Some(container_id), Some(ifname), None) => Ok(Attached { container_id, ifname, netns }),
        (_, _, error) => Err(error.unwrap_or_default()),
    }
}

/// The text of `CNI_ARGS`; empty when unset.
pub(crate) fn args(call: &Call) -> Result<&str, ErrorObject> {
    let value = call.var(env::ARGS).unwrap_or_default();
    value.to_str().ok_or_else(|| {
        let details = format!("{} is {value:?}", env::ARGS);
        ErrorObject::new(ErrorCode::INVALID_ENVIRONMENT, "ARGS: not UTF-8").with_details(details)
    })
}

/// Whether the plugin may work in its own namespace.
pub(crate) fn may_use_own_netns(call: &Call) -> bool {
    call.var(env::NETNS_OVERRIDE).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
}

/// A variable that is set and not empty.
fn set<'c>(call: &'c Call, name: &str) -> Option<&'c OsStr> {
    call.var(name).filter(|value| !value.is_empty())
}

/// What was missing and what was wrong.
#[derive(Default)]
struct Faults {
    missing: Vec<&'static str>,
    invalid: Vec<Invalid>,
}

/// A variable that is set, and to what it must not be.
struct Invalid {
    /// In the words of Go's library, which tools match on.
    msg: &'static str,
    /// The variable, its value and what was expected.
    details: String,
}

impl Faults {
    fn name<T>(
        &mut self,
        call: &Call,
        variable: &'static str,
        parse: impl FnOnce(String) -> Result<T, InvalidName>,
    ) -> Option<T> {
        let Some(value) = set(call, variable) else {
            self.missing.push(variable);
            return None;
        };
        let (msg, expectation) = match value.to_str().map(|text| parse(text.to_owned())) {
            Some(Ok(name)) => return Some(name),
            Some(Err(error)) => (error.message(), error.expectation()),
            None => ("not UTF-8", "must be UTF-8"),
        };
        self.invalid.push(Invalid { msg, details: format!("{variable} is {value:?}: {expectation}") });
        None
    }

    fn into_error(self) -> Option<ErrorObject> {
        let msg = match (self.missing.as_slice(), self.invalid.as_slice()) {
            ([], []) => return None,
            ([], [first, ..]) => first.msg.to_owned(),
            (missing, []) => missing_message(missing),
            (missing, [first, ..]) => format!("{}, {}", missing_message(missing), first.msg),
        };
        let details: Vec<_> = self.invalid.into_iter().map(|invalid| invalid.details).collect();
        Some(ErrorObject::new(ErrorCode::INVALID_ENVIRONMENT, msg).with_details(details.join("; ")))
    }
}

/// In the words of Go's library, which tools match on.
fn missing_message(names: &[&str]) -> String {
    format!("required env variables [{}] missing", names.join(","))
}
