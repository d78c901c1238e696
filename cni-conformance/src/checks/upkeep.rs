//! STATUS and GC: what is asked of a network, not of a container.

use cni_types::config::{VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD};
use cni_types::{CniVersion, Command};
use serde_json::{Value, json};

use crate::catalog::{GC_KEEPS_VALID, GC_REMOVES_STALE, GC_SILENT, GC_SUCCEEDS, STATUS_READY};
use crate::exchange::Exchange;
use crate::request::Request;
use crate::session::{Attachment, Session};

pub(crate) fn run(session: &Session<'_>, version: CniVersion) {
    if version < CniVersion::V1_1_0 {
        return;
    }
    status(session, version);
    garbage(session, version);
}

/// A GC that lists these attachments as valid.
pub(crate) fn gc(session: &Session<'_>, version: CniVersion, valid: &[&Attachment]) -> Request {
    let valid: Vec<_> =
        valid.iter().map(|at| json!({"containerID": at.container_id, "ifname": at.ifname})).collect();
    // Under both names, as runtimes send it.
    let request = session.request(Command::Gc, version, None);
    request.key(VALID_ATTACHMENTS, valid.clone()).key(VALID_ATTACHMENTS_OLD, valid)
}

fn status(session: &Session<'_>, version: CniVersion) {
    let mut at = session.container(0);
    if session.add(version, &mut at).succeeded() {
        session.release(version, &at);
        let asked = session.call(&session.request(Command::Status, version, None));
        session.expect_success(&STATUS_READY, &asked);
    } else {
        session.release(version, &at);
        session.skip(&STATUS_READY, session.not_added());
    }
}

fn garbage(session: &Session<'_>, version: CniVersion) {
    let skip = |reason: &str| {
        for check in [&GC_KEEPS_VALID, &GC_REMOVES_STALE] {
            session.skip(check, reason);
        }
    };
    let collect = |valid: &[&Attachment]| {
        let collected = session.call(&gc(session, version, valid));
        if session.expect_success(&GC_SUCCEEDS, &collected) {
            session.expect_silence(&GC_SILENT, &collected);
            true
        } else {
            session.skip(&GC_SILENT, "GC fails: see gc-succeeds");
            false
        }
    };
    if !collect(&[]) {
        skip("GC fails: see gc-succeeds");
        return;
    }
    if let Err(reason) = session.has_two() {
        skip(reason);
        return;
    }
    let (mut kept, mut stale) = (session.container(0), session.container(1));
    let added = [session.add(version, &mut kept), session.add(version, &mut stale)];
    let check = |at: &Attachment| session.call(&session.request(Command::Check, version, Some(at)));
    if !added.iter().all(|added| added.succeeded()) {
        skip(session.not_added());
    } else if !(check(&kept).succeeded() && check(&stale).succeeded()) {
        skip("CHECK fails: see check-after-add");
    } else if !check_tells(session, version, &stale) {
        skip("CHECK succeeds for a container that was never attached, so that it cannot tell what GC did");
    } else {
        let stays = |checked: &Exchange| {
            let stays =
                if checked.succeeded() { Ok(()) } else { Err(format!("after GC {}", checked.told())) };
            session.judge(&GC_KEEPS_VALID, checked, stays);
        };
        if collect(&[&kept, &stale]) {
            stays(&check(&kept));
            stays(&check(&stale));
        }
        if collect(&[&kept]) {
            stays(&check(&kept));
            let checked = check(&stale);
            let gone = if checked.succeeded() {
                Err(format!("after a GC that lists {:?} alone it succeeded", kept.container_id))
            } else {
                Ok(())
            };
            session.judge(&GC_REMOVES_STALE, &checked, gone);
        }
    }
    session.release(version, &kept);
    session.release(version, &stale);
}

/// Whether CHECK fails for a container that was never attached, in the place of one that is.
pub(crate) fn check_tells(session: &Session<'_>, version: CniVersion, at: &Attachment) -> bool {
    let stranger = Attachment { container_id: session.container(0).container_id, ..at.clone() };
    let request = session.request(Command::Check, version, Some(&stranger));
    let request = request.key("prevResult", at.result.clone().unwrap_or(Value::Null));
    !session.call(&request).succeeded()
}
