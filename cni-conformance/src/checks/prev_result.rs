//! What becomes of a `prevResult`.

use cni_types::{CniVersion, Command};
use serde_json::{Value, json};

use super::results::none_of;
use crate::catalog::ADD_PREV_RESULT;
use crate::session::{Attachment, Session};
use crate::setup::Kind;
use crate::shape;

pub(crate) fn run(session: &Session<'_>, version: CniVersion) {
    if session.kind == Kind::Ipam {
        session.skip(&ADD_PREV_RESULT, "the prevResult that an IPAM plugin gets is its caller's");
        return;
    }
    let mut at = session.container(0);
    at.before = Some(session.links());
    let request = session.request(Command::Add, version, Some(&at));
    // A chained plugin has one in its configuration, which fits.
    let request = match session.kind {
        Kind::Chained => request,
        Kind::Interface | Kind::Ipam => request.key("prevResult", sample(version, &at)),
    };
    let prev_result =
        serde_json::from_slice::<Value>(&request.stdin()).unwrap_or_default()["prevResult"].take();
    let added = session.call(&request);
    match added.object() {
        None => session.fail(&ADD_PREV_RESULT, added.told(), &added),
        Some(result) => {
            let lost: Vec<_> =
                shape::lost(&prev_result, result).into_iter().map(|lost| format!("{lost} is lost")).collect();
            session.judge(&ADD_PREV_RESULT, &added, none_of(&lost));
        }
    }
    at.result = added.object().map(|object| Value::Object(object.clone()));
    session.release(version, &at);
}

/// A result with something in every place, in the layout of 1.0.0 and later.
fn sample(version: CniVersion, at: &Attachment) -> Value {
    json!({
        "cniVersion": version.as_str(),
        "interfaces": [
            {"name": "conformance0", "mac": "02:00:00:00:00:01"},
            {"name": "conformance1", "mac": "02:00:00:00:00:02", "sandbox": at.netns.display().to_string()},
        ],
        "ips": [{"address": "198.51.100.254/24", "gateway": "198.51.100.1", "interface": 1}],
        "routes": [{"dst": "203.0.113.0/24", "gw": "198.51.100.1"}],
        "dns": {"nameservers": ["198.51.100.53"], "search": ["conformance.example"]},
    })
}
