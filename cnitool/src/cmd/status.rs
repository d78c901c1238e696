//! `status`: asks whether `add` could succeed.

use libcni::cni_types::Command;

use super::Context;
use crate::cli::Status;
use crate::failure::Failure;
use crate::output::Done;

pub(super) fn run(args: &Status, context: &Context<'_>) -> Result<(), Failure> {
    let network = context.network(&args.network)?;
    context.client().status(&network)?;
    context.console.note_if_not_asked(&network, Command::Status);
    context.console.show(&Done::of_network(Command::Status, &network))
}
