//! `check`: verifies that what `add` made is still there.

use libcni::cni_types::Command;

use super::Context;
use crate::cli::Target;
use crate::failure::Failure;
use crate::output::{Done, Note};

pub(super) fn run(target: &Target, context: &Context<'_>) -> Result<(), Failure> {
    let rt = context.runtime_conf(target)?;
    let network = context.network(&target.network)?;
    context.client().check(&network, &rt)?;
    if network.disable_check() {
        context.console.note(&Note::Disabled { network: &network, command: Command::Check });
    }
    context.console.show(&Done::of_attachment(Command::Check, &network, &rt))
}
