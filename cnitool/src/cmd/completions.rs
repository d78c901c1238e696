//! `completions`: a script for a shell.

use clap::CommandFactory as _;

use super::Context;
use crate::cli::{Cli, Completions};
use crate::failure::Failure;

pub(super) fn run(args: &Completions, context: &Context<'_>) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cnitool", &mut script);
    context.console.show(&script)
}
