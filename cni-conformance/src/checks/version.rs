//! VERSION: what the plugin says of itself.

use std::sync::Arc;

use cni_types::{CniVersion, env};
use serde_json::{Map, Value};

use crate::catalog::{VERSION_ECHO, VERSION_ENV, VERSION_KNOWN, VERSION_REPLY};
use crate::exchange::Exchange;
use crate::request::Request;
use crate::session::Session;

/// The versions of the spec that a plugin supports.
pub(crate) struct Versions {
    /// Those to test it in.
    pub(crate) tested: Vec<CniVersion>,
    /// Those that it may support: all of them, if it does not say.
    pub(crate) possible: Vec<CniVersion>,
}

/// Asks for the versions; `None` when the plugin cannot be started at all.
pub(crate) fn run(session: &Session<'_>) -> Option<Versions> {
    let exchange = ask(session)?;
    let supported = match exchange.object().map(supported_versions) {
        Some(Ok(supported)) => {
            session.pass(&VERSION_REPLY);
            supported
        }
        other => {
            let reason = match other {
                Some(Err(reason)) => reason,
                _ => exchange.told(),
            };
            session.fail(&VERSION_REPLY, reason, &exchange);
            for check in [&VERSION_ECHO, &VERSION_KNOWN] {
                session.skip(check, "VERSION's reply cannot be read: see version-reply");
            }
            return Some(assumed(session));
        }
    };
    let released: Vec<_> =
        CniVersion::ALL.into_iter().filter(|version| supported.contains(&version.to_string())).collect();
    let unknown: Vec<_> = supported
        .iter()
        .filter(|claimed| !released.iter().any(|version| version.as_str() == claimed.as_str()))
        .map(|claimed| format!("{claimed:?}"))
        .collect();
    let known = if unknown.is_empty() {
        Ok(())
    } else {
        Err(format!("the spec has no version {}", unknown.join(", ")))
    };
    session.judge(&VERSION_KNOWN, &exchange, known);
    for version in released.iter().filter(|version| **version >= VERSION_ECHO.since) {
        let exchange = session.call(&with_everything(Request::version(*version), session));
        let Some(object) = exchange.object() else { continue };
        let found = object.get("cniVersion").and_then(Value::as_str).unwrap_or_default();
        let echoed = if found == version.as_str() {
            Ok(())
        } else {
            Err(format!("cniVersion of the reply is {found:?}"))
        };
        session.judge(&VERSION_ECHO, &exchange, echoed);
    }
    if released.is_empty() {
        Some(assumed(session))
    } else {
        Some(Versions { tested: released.clone(), possible: released })
    }
}

/// Asks with no variable but the command; if that will not do, with others as well.
fn ask(session: &Session<'_>) -> Option<Arc<Exchange>> {
    let request = Request::version(CniVersion::NEWEST);
    let bare = session.call(&request);
    if bare.not_started {
        session.fail(&VERSION_REPLY, bare.told(), &bare);
        return None;
    }
    if bare.succeeded() {
        session.pass(&VERSION_ENV);
        return Some(bare);
    }
    let helped = session.call(&with_everything(request, session));
    if helped.succeeded() {
        session.fail(&VERSION_ENV, bare.told(), &bare);
        return Some(helped);
    }
    session.skip(&VERSION_ENV, "VERSION fails in any case: see version-reply");
    Some(bare)
}

/// The variables that runtimes set even for VERSION, because plugins built on an early library of Go want them.
fn with_everything(request: Request, session: &Session<'_>) -> Request {
    let at = session.container(0);
    request
        .set(env::CONTAINER_ID, at.container_id)
        .set(env::NETNS, "dummy")
        .set(env::IFNAME, "dummy")
        .set(env::PATH, "dummy")
}

fn supported_versions(reply: &Map<String, Value>) -> Result<Vec<String>, String> {
    if !reply.get("cniVersion").is_some_and(Value::is_string) {
        return Err("the reply has no cniVersion".to_owned());
    }
    let list = reply.get("supportedVersions").and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty()).ok_or("the reply has no list supportedVersions")?;
    let text = |version: &Value| version.as_str().map(str::to_owned);
    list.iter()
        .map(text)
        .collect::<Option<_>>()
        .ok_or_else(|| "supportedVersions has more than strings".to_owned())
}

/// What to go on with when the plugin does not say: the configuration's version, or that of plugins without VERSION.
fn assumed(session: &Session<'_>) -> Versions {
    let declared = session.setup.config.get("cniVersion").and_then(Value::as_str);
    let version = declared.and_then(|version| version.parse().ok()).unwrap_or(CniVersion::WHEN_ABSENT);
    Versions { tested: vec![version], possible: CniVersion::ALL.to_vec() }
}
