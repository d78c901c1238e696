//! `attachments`: what the cache has, whoever attached it.

use super::Context;
use crate::cli::Attachments;
use crate::failure::Failure;
use crate::output::Attached;

pub(super) fn run(args: &Attachments, context: &Context<'_>) -> Result<(), Failure> {
    let mut attachments = context.client().attachments(None)?;
    if let Some(network) = &args.network {
        attachments.retain(|attachment| attachment.network_name() == network);
    }
    context.console.show(&Attached { cache_dir: &context.settings.cache_dir, attachments: &attachments })
}
