//! `add`: attaches a network namespace to a network.

use libcni::{Client, Network, Plugin, RuntimeConf};

use super::{Context, declared};
use crate::cli::Add;
use crate::failure::{Failure, Fault, Usage};
use crate::output::Unconsumed;

pub(super) fn run(args: &Add, context: &Context<'_>) -> Result<(), Failure> {
    let rt = context.runtime_conf(&args.target)?;
    let network = context.network(&args.target.network)?;
    for (capability, _) in rt.capability_args().iter() {
        if !declared(network.plugins().iter().map(Plugin::config), capability) {
            context.console.warn(Unconsumed { capability, network: &network });
        }
    }
    let client = context.client();
    let result = if args.undo {
        refuse_to_undo_another(&client, &network, &rt)?;
        client.add_or_undo(&network, &rt)?
    } else {
        client.add(&network, &rt).map_err(|error| {
            let remedy = error.was_executed().then(|| del(&network, &rt));
            Failure::Operation { error: Box::new(error), remedy }
        })?
    };
    context.console.show(&result)
}

/// DEL tells not one ADD of an attachment from another: undoing a second one would take the first away.
fn refuse_to_undo_another(client: &Client, network: &Network, rt: &RuntimeConf) -> Result<(), Failure> {
    match client.cached_attachment(network, rt) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => {
            Err(Usage { origin: "--undo", fault: Fault::Attached { network: network.name().clone() } }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The command that removes what a failed ADD left.
fn del(network: &Network, rt: &RuntimeConf) -> Vec<String> {
    let netns = rt.netns().unwrap_or_default();
    ["cnitool", "del", network.name().as_str(), netns, "--ifname", rt.ifname().as_str()]
        .map(str::to_owned)
        .to_vec()
}
