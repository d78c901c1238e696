//! Two attachments: of different containers at the same time, and of the same container.

use cni_types::{CniVersion, Command};
use serde_json::Value;

use crate::catalog::{ATTACHMENT_KEY, CONCURRENT};
use crate::session::{Attachment, Session};
use crate::setup::Kind;
use crate::shape;

/// How often containers are attached at the same time.
const ROUNDS: usize = 3;

pub(crate) fn run(session: &Session<'_>, version: CniVersion) {
    match session.has_two() {
        Ok(()) => concurrent(session, version),
        Err(reason) => session.skip(&CONCURRENT, reason),
    }
    same_container(session, version);
}

fn concurrent(session: &Session<'_>, version: CniVersion) {
    // One after the other first: what fails then is not for want of a lock. A chained plugin finds one interface in each
    // namespace; of the others, some cannot have two containers in the same.
    let counts = if session.kind == Kind::Chained { &[2][..] } else { &[4, 2] };
    let Some((count, distinct)) = counts.iter().find_map(|count| one_after_another(session, version, *count))
    else {
        return session.skip(&CONCURRENT, "two containers cannot even be attached one after the other");
    };
    for _ in 0..ROUNDS {
        let mut containers: Vec<_> = (0..count).map(|number| session.container(number)).collect();
        let before = Some(session.links());
        let requests: Vec<_> =
            containers.iter().map(|at| session.request(Command::Add, version, Some(at))).collect();
        let mut seen: Vec<String> = Vec::new();
        for (at, added) in containers.iter_mut().zip(session.call_together(&requests)) {
            at.before.clone_from(&before);
            at.result = added.object().map(|object| Value::Object(object.clone()));
            let twice = addresses(at).into_iter().find(|address| distinct && seen.contains(address));
            seen.extend(addresses(at));
            let verdict = match twice {
                _ if !added.succeeded() => Err(format!("with {count} at the same time {}", added.told())),
                Some(address) => Err(format!("with {count} at the same time, {address} was given out twice")),
                None => Ok(()),
            };
            session.judge(&CONCURRENT, &added, verdict);
        }
        let requests: Vec<_> =
            containers.iter().map(|at| session.request(Command::Del, version, Some(at))).collect();
        for deleted in session.call_together(&requests) {
            let verdict = if deleted.succeeded() {
                Ok(())
            } else {
                Err(format!("with {count} at the same time {}", deleted.told()))
            };
            session.judge(&CONCURRENT, &deleted, verdict);
        }
        containers.iter().for_each(|at| session.release(version, at));
    }
}

/// Attaches so many containers: how many, if all could be, and whether no two got the same address.
fn one_after_another(session: &Session<'_>, version: CniVersion, count: usize) -> Option<(usize, bool)> {
    let mut containers: Vec<_> = (0..count).map(|number| session.container(number)).collect();
    let works = containers.iter_mut().all(|at| session.add(version, at).succeeded());
    let mut seen: Vec<String> = containers.iter().flat_map(addresses).collect();
    containers.iter().for_each(|at| session.release(version, at));
    let given = seen.len();
    seen.sort();
    seen.dedup();
    works.then_some((count, seen.len() == given))
}

fn addresses(at: &Attachment) -> Vec<String> {
    at.result.as_ref().and_then(Value::as_object).map(shape::addresses).unwrap_or_default()
}

/// Two interfaces of one container, of which one goes.
fn same_container(session: &Session<'_>, version: CniVersion) {
    let skip = |reason: &str| session.skip(&ATTACHMENT_KEY, reason);
    if version < CniVersion::V0_4_0 {
        return skip("only CHECK, which is from 0.4.0, can tell");
    }
    if session.kind == Kind::Chained && session.setup.netns.is_some() {
        return skip("a chained plugin finds one interface in the network namespace");
    }
    let mut first = session.container(0);
    let mut second = Attachment { ifname: session.other_ifname(99), ..first.clone() };
    let added = session.add(version, &mut first);
    let check = |at: &Attachment| session.call(&session.request(Command::Check, version, Some(at)));
    if !added.succeeded() {
        skip(session.not_added());
    } else if session.kind != Kind::Ipam && !session.told_in_container(&first).contains(&first.ifname) {
        skip("the result has no interface of the name that was asked for");
    } else {
        let added = session.add(version, &mut second);
        if !added.succeeded() {
            session.fail(
                &ATTACHMENT_KEY,
                format!("a second interface of the container: {}", added.told()),
                &added,
            );
        } else if session.kind != Kind::Ipam && !session.told_in_container(&second).contains(&second.ifname) {
            skip("the result does not have the second interface");
        } else if !check(&second).succeeded() {
            skip("CHECK fails: see check-after-add");
        } else {
            session.call(&session.request(Command::Del, version, Some(&first)));
            if check(&first).succeeded() {
                skip("CHECK succeeds after DEL, so that it cannot tell what is left");
            } else {
                let checked = check(&second);
                let verdict = if checked.succeeded() {
                    Ok(())
                } else {
                    Err(format!("after DEL of {:?} {}", first.ifname, checked.told()))
                };
                session.judge(&ATTACHMENT_KEY, &checked, verdict);
            }
        }
        session.release(version, &second);
    }
    session.release(version, &first);
}
