//! `del`: detaches a network namespace from a network.

use libcni::cni_types::Command;

use super::Context;
use crate::cli::Target;
use crate::failure::Failure;
use crate::output::Done;

pub(super) fn run(target: &Target, context: &Context<'_>) -> Result<(), Failure> {
    let rt = context.runtime_conf(target)?;
    let network = context.network(&target.network)?;
    context.client().del(&network, &rt)?;
    context.console.show(&Done::of_attachment(Command::Del, &network, &rt))
}
