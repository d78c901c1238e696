//! What ADD printed.

use cni_types::CniVersion;
use serde_json::{Map, Value};

use crate::catalog::{
    ADD_IFNAME, ADD_INTERFACE, ADD_INTERFACE_INDEX, ADD_RESULT_SHAPE, ADD_RESULT_VERSION, ADD_SANDBOX,
    ADD_SUCCEEDS, IPAM_ABBREVIATED,
};
use crate::exchange::{Answer, Exchange};
use crate::session::{Attachment, Session};
use crate::setup::Kind;
use crate::shape;

/// Judges an ADD of a good call. `false` when there is no result to go on with.
pub(crate) fn judge(session: &Session<'_>, version: CniVersion, at: &Attachment, added: &Exchange) -> bool {
    let Some(result) = added.object() else {
        let reason = match added.answer() {
            Answer::Success(Some(document)) => format!("it printed {document}, which is no object"),
            _ => added.told(),
        };
        session.fail(&ADD_SUCCEEDS, reason, added);
        return false;
    };
    session.pass(&ADD_SUCCEEDS);
    let found = result.get("cniVersion").and_then(Value::as_str).unwrap_or_default();
    let same = if found == version.as_str() {
        Ok(())
    } else {
        Err(format!("cniVersion of the result is {found:?}"))
    };
    session.judge(&ADD_RESULT_VERSION, added, same);
    session.judge(&ADD_RESULT_SHAPE, added, none_of(&shape::problems(version, result)));
    if version >= CniVersion::V0_3_0 {
        interfaces(session, version, at, added, result);
    }
    true
}

fn interfaces(
    session: &Session<'_>,
    version: CniVersion,
    at: &Attachment,
    added: &Exchange,
    result: &Map<String, Value>,
) {
    if shape::indexes(result) == 0 {
        session.skip(&ADD_INTERFACE_INDEX, "no address of a result has an index");
    } else {
        session.judge(&ADD_INTERFACE_INDEX, added, none_of(&shape::wrong_indexes(result)));
    }
    if session.kind == Kind::Ipam {
        if version >= IPAM_ABBREVIATED.since {
            session.judge(&IPAM_ABBREVIATED, added, none_of(&unabbreviated(result)));
        }
        for check in [&ADD_SANDBOX, &ADD_IFNAME, &ADD_INTERFACE] {
            session.skip(check, "the result of an IPAM plugin has no interfaces");
        }
        return;
    }
    session.skip(&IPAM_ABBREVIATED, "the plugin is no IPAM plugin for its configuration");
    let netns = at.netns.display().to_string();
    let sandboxes: Vec<_> = shape::list(result, "interfaces")
        .iter()
        .filter_map(|interface| interface["sandbox"].as_str())
        .filter(|sandbox| !sandbox.is_empty())
        .collect();
    if sandboxes.is_empty() {
        for check in [&ADD_SANDBOX, &ADD_IFNAME, &ADD_INTERFACE] {
            session.skip(check, "the result places no interface in a container");
        }
        return;
    }
    let other: Vec<_> = sandboxes.iter().filter(|sandbox| **sandbox != netns).collect();
    let problem = || Err(format!("sandbox is {other:?}, CNI_NETNS is {netns:?}"));
    session.judge(&ADD_SANDBOX, added, if other.is_empty() { Ok(()) } else { problem() });
    let told = session.told_in_container(at);
    if session.kind == Kind::Chained {
        session.skip(&ADD_IFNAME, "the interface is not the plugin's own");
    } else if !told.is_empty() {
        let named = told.contains(&at.ifname);
        let reason = || Err(format!("the container has {told:?}, CNI_IFNAME is {:?}", at.ifname));
        session.judge(&ADD_IFNAME, added, if named { Ok(()) } else { reason() });
    }
    match &session.kernel {
        Err(reason) => session.skip(&ADD_INTERFACE, reason.clone()),
        Ok(_) => {
            let links = session.links();
            let missing: Vec<_> = told
                .iter()
                .filter(|name| !links.contains_key(*name))
                .map(|name| format!("there is no interface {name:?} in the container"))
                .collect();
            session.judge(&ADD_INTERFACE, added, none_of(&missing));
        }
    }
}

fn unabbreviated(result: &Map<String, Value>) -> Vec<String> {
    let interfaces = shape::list(result, "interfaces").len();
    let interfaces = (interfaces > 0).then(|| format!("the result has {interfaces} interfaces"));
    let indexes = shape::indexes(result);
    let indexes = (indexes > 0).then(|| format!("{indexes} addresses have an interface"));
    interfaces.into_iter().chain(indexes).collect()
}

/// Nothing is wrong, or all of it.
pub(crate) fn none_of(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}
