//! ADD, CHECK and DEL of one container after another, in one version.

use cni_types::{CniVersion, Command, env};
use serde_json::{Map, Value, json};

use super::results;
use crate::catalog::{
    ADD_SUCCEEDS, CHECK_AFTER_ADD, CHECK_LATER_CHANGES, CHECK_SILENT, Check, DEL_AFTER_ADD, DEL_BEFORE_ADD,
    DEL_NETNS_GONE, DEL_REMOVES_INTERFACE, DEL_TWICE, DEL_UNDOES, DEL_WITHOUT_NETNS, DEL_WITHOUT_PREV_RESULT,
};
use crate::request::Request;
use crate::session::{Attachment, Session};
use crate::setup::made_up_netns;

/// `false` when ADD fails.
pub(crate) fn run(session: &Session<'_>, version: CniVersion) -> bool {
    if let Some(delegate) = session.recorder() {
        // A file in a directory of our own: if it cannot be written, ADD fails, and says so.
        let _ = delegate.answer_in(version);
    }
    let stranger = session.container(0);
    let before_add = session.call(&session.request(Command::Del, version, Some(&stranger)));
    session.expect_success(&DEL_BEFORE_ADD, &before_add);

    let mut at = session.container(0);
    let is_added = !session.is_littered() && {
        let added = session.add(version, &mut at);
        results::judge(session, version, &at, &added)
    };
    if !is_added {
        session.release(version, &at);
        for check in [
            &ADD_SUCCEEDS,
            &CHECK_AFTER_ADD,
            &CHECK_LATER_CHANGES,
            &CHECK_SILENT,
            &DEL_AFTER_ADD,
            &DEL_TWICE,
            &DEL_WITHOUT_NETNS,
            &DEL_WITHOUT_PREV_RESULT,
            &DEL_NETNS_GONE,
            &DEL_REMOVES_INTERFACE,
            &DEL_UNDOES,
        ] {
            session.skip(check, session.not_added());
        }
        return false;
    }
    if version >= CniVersion::V0_4_0 {
        check(session, version, &at);
    }
    delete(session, version, &at);
    if session.is_littered() {
        return false;
    }
    variants(session, version);
    true
}

fn check(session: &Session<'_>, version: CniVersion, at: &Attachment) {
    let request = session.request(Command::Check, version, Some(at));
    let checked = session.call(&request);
    if !session.expect_success(&CHECK_AFTER_ADD, &checked) {
        session.skip(&CHECK_LATER_CHANGES, "CHECK fails in any case: see check-after-add");
        session.skip(&CHECK_SILENT, "CHECK fails: see check-after-add");
        return;
    }
    if version == CniVersion::V0_4_0 {
        session.expect_silence(&CHECK_SILENT, &checked);
    } else {
        session.skip(&CHECK_SILENT, "only 0.4.0 says so");
    }
    let mut later = at.result.clone().unwrap_or_default();
    if let Value::Object(later) = &mut later {
        push(later, "interfaces", json!({"name": "conformance0"}));
        if let Value::Object(dns) = later.entry("dns").or_insert_with(|| json!({})) {
            push(dns, "nameservers", json!("198.51.100.53"));
        }
    }
    let checked = session.call(&request.key("prevResult", later));
    session.expect_success(&CHECK_LATER_CHANGES, &checked);
}

/// Appends to a list, which is made if there is none.
fn push(object: &mut Map<String, Value>, key: &str, item: Value) {
    match object.get_mut(key) {
        Some(Value::Array(items)) => items.push(item),
        _ => drop(object.insert(key.to_owned(), json!([item]))),
    }
}

fn delete(session: &Session<'_>, version: CniVersion, at: &Attachment) {
    let made = session.made(at);
    let request = session.request(Command::Del, version, Some(at));
    let deleted = session.call(&request);
    if session.expect_success(&DEL_AFTER_ADD, &deleted) {
        let again = session.call(&request);
        session.expect_success(&DEL_TWICE, &again);
        match &session.kernel {
            Err(reason) => session.skip(&DEL_REMOVES_INTERFACE, reason.clone()),
            Ok(_) if made.is_empty() => session.skip(&DEL_REMOVES_INTERFACE, "ADD makes no interface"),
            Ok(_) => {
                let links = session.links();
                let left: Vec<_> = made.iter().filter(|name| links.contains_key(*name)).collect();
                let gone =
                    if left.is_empty() { Ok(()) } else { Err(format!("{left:?} is still in the container")) };
                session.judge(&DEL_REMOVES_INTERFACE, &deleted, gone);
            }
        }
    } else {
        session.skip(&DEL_TWICE, "DEL fails the first time: see del-after-add");
        session.skip(&DEL_REMOVES_INTERFACE, "DEL fails: see del-after-add");
    }
    session.release(version, at);
    if !deleted.succeeded() {
        return session.skip(&DEL_UNDOES, "DEL fails: see del-after-add");
    }
    let mut next = session.container(0);
    let added = session.add(version, &mut next);
    if !session.expect_success(&DEL_UNDOES, &added) {
        session.litter();
    }
    session.release(version, &next);
}

/// DEL of attached containers with something missing.
fn variants(session: &Session<'_>, version: CniVersion) {
    let variant = |check: &'static Check, change: &dyn Fn(Request) -> Request| {
        let mut at = session.container(0);
        if session.add(version, &mut at).succeeded() {
            let request = session.request(Command::Del, version, Some(&at));
            session.expect_success(check, &session.call(&change(request)));
        } else {
            session.skip(check, session.not_added());
        }
        session.release(version, &at);
    };
    variant(&DEL_WITHOUT_NETNS, &|request| request.unset(env::NETNS));
    variant(&DEL_WITHOUT_NETNS, &|request| request.set(env::NETNS, ""));
    if session.setup.netns.is_some() {
        variant(&DEL_NETNS_GONE, &|request| request.set(env::NETNS, made_up_netns(9)));
    } else {
        session.skip(&DEL_NETNS_GONE, "needs a real network namespace");
    }
    if version >= CniVersion::V0_4_0 {
        variant(&DEL_WITHOUT_PREV_RESULT, &|request| request.without_key("prevResult"));
    }
}
