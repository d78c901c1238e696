//! What only a kernel can show: an interface that is there already, and one that is gone.

use cni_types::{CniVersion, Command};

use crate::catalog::{ADD_EXISTS, CHECK_AFTER_DAMAGE, DEL_AFTER_DAMAGE};
use crate::kernel::Kernel;
use crate::session::{Attachment, Session};
use crate::setup::Kind;

pub(crate) fn run(session: &Session<'_>, version: CniVersion) {
    let skip_all = |reason: &str| {
        for check in [&ADD_EXISTS, &CHECK_AFTER_DAMAGE, &DEL_AFTER_DAMAGE] {
            session.skip(check, reason);
        }
    };
    let kernel = match (&session.kernel, session.kind) {
        (_, Kind::Ipam) => return skip_all("an IPAM plugin makes no interface"),
        (_, Kind::Chained) => return skip_all("the interface is not the plugin's own"),
        (Err(reason), Kind::Interface) => return skip_all(reason),
        (Ok(kernel), Kind::Interface) => kernel,
    };
    for look in [exists, damage] {
        let mut at = session.container(0);
        if session.add(version, &mut at).succeeded() {
            look(session, version, kernel, &at);
        } else {
            skip_all(session.not_added());
        }
        session.release(version, &at);
    }
}

/// Another container asks for an interface that is there.
fn exists(session: &Session<'_>, version: CniVersion, _: &Kernel, at: &Attachment) {
    if !session.made(at).contains(&at.ifname) {
        return session.skip(&ADD_EXISTS, "ADD makes no interface of the name that was asked for");
    }
    let mut other = session.container(0);
    let added = session.add(version, &mut other);
    if added.succeeded() {
        session.fail(&ADD_EXISTS, format!("{:?} was there already, and it succeeded", at.ifname), &added);
    } else {
        session.pass(&ADD_EXISTS);
    }
    session.call(&session.request(Command::Del, version, Some(&other)));
}

fn damage(session: &Session<'_>, version: CniVersion, kernel: &Kernel, at: &Attachment) {
    let skip = |reason: &str| {
        session.skip(&CHECK_AFTER_DAMAGE, reason);
        session.skip(&DEL_AFTER_DAMAGE, reason);
    };
    let check = || session.call(&session.request(Command::Check, version, Some(at)));
    let has_check = Command::Check.exists_in(version);
    let checks = has_check && check().succeeded();
    let what = match break_interface(session, kernel, at) {
        Ok(Some(what)) => what,
        Ok(None) => return skip("ADD neither makes an interface nor brings one up"),
        Err(error) => return skip(&format!("the interface cannot be damaged: {error}")),
    };
    if checks {
        let checked = check();
        let noticed = if checked.succeeded() { Err(format!("{what}, and it succeeded")) } else { Ok(()) };
        session.judge(&CHECK_AFTER_DAMAGE, &checked, noticed);
    } else if has_check {
        session.skip(&CHECK_AFTER_DAMAGE, "CHECK fails in any case: see check-after-add");
    }
    let deleted = session.call(&session.request(Command::Del, version, Some(at)));
    let verdict = if deleted.succeeded() { Ok(()) } else { Err(format!("{what}, and {}", deleted.told())) };
    session.judge(&DEL_AFTER_DAMAGE, &deleted, verdict);
}

/// Deletes an interface that ADD made, or takes down one that it brought up, and says so.
fn break_interface(
    session: &Session<'_>,
    kernel: &Kernel,
    at: &Attachment,
) -> std::io::Result<Option<String>> {
    let links = kernel.links()?;
    if let Some((name, link)) = session.made(at).first().and_then(|name| Some((name, links.get(name)?))) {
        kernel.delete(*link)?;
        return Ok(Some(format!("interface {name:?} was deleted")));
    }
    let brought_up = |name: &String| {
        let link = links.get(name).filter(|link| link.is_up)?;
        at.before.as_ref()?.get(name).is_some_and(|before| !before.is_up).then_some(*link)
    };
    for name in session.told_in_container(at) {
        if let Some(link) = brought_up(&name) {
            kernel.take_down(link)?;
            return Ok(Some(format!("interface {name:?} was taken down")));
        }
    }
    Ok(None)
}
