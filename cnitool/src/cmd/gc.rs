//! `gc`: removes whatever belongs to none of the attachments that are named.

use libcni::cni_types::Command;
use libcni::{Attachment, Client};

use super::Context;
use crate::cli::Gc;
use crate::env::{self, Valid};
use crate::failure::Failure;
use crate::output::{Collected, Note};

pub(super) fn run(args: &Gc, context: &Context<'_>) -> Result<(), Failure> {
    let named = env::valid(&args.valid, &context.settings, context.env)?;
    let network = context.network(&args.network)?;
    let client = context.client();
    let valid = attachments(&client, network.name().as_str(), &named)?;
    let outcome = client.gc(&network, &valid);
    let deleted = match &outcome {
        Ok(report) => &report.deleted[..],
        Err(libcni::Error::Gc { deleted, .. }) => deleted,
        Err(_) => &[],
    };
    if network.disable_gc() {
        context.console.note(&Note::Disabled { network: &network, command: Command::Gc });
    } else if outcome.is_ok() {
        context.console.note_if_not_asked(&network, Command::Gc);
    }
    // What is gone is told even if not everything went well.
    if outcome.is_ok() || !deleted.is_empty() {
        context.console.show(&Collected { network: &network, valid: &valid, deleted })?;
    }
    Ok(outcome.map(|_| ())?)
}

/// The attachments that are meant: without an interface, all that a network namespace has.
fn attachments(client: &Client, network: &str, named: &[Valid]) -> Result<Vec<Attachment>, Failure> {
    let mut valid = Vec::new();
    for Valid { container_id, ifname } in named {
        if let Some(ifname) = ifname {
            valid.push(Attachment::new(container_id, ifname.as_str()));
            continue;
        }
        let cached = client.attachments(Some(container_id))?;
        let before = valid.len();
        valid.extend(
            cached.iter().filter(|cached| cached.network_name() == network).map(|cached| cached.attachment()),
        );
        if valid.len() == before {
            valid.push(Attachment::new(container_id, env::DEFAULT_IFNAME));
        }
    }
    Ok(valid)
}
