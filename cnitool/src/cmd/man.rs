//! `man`: a manual page, for packagers.

use clap::CommandFactory as _;

use super::Context;
use crate::cli::{Cli, Man};
use crate::failure::{Failure, Fault, Usage};

pub(super) fn run(args: &Man, context: &Context<'_>) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => {
            let fault = || Usage { origin: "COMMAND", fault: Fault::Command(name.clone()) };
            let command = program.find_subcommand(name).ok_or_else(fault)?.clone();
            let name = format!("cnitool-{}", command.get_name());
            command.display_name(name)
        }
    };
    let mut page = Vec::new();
    let source = concat!("cnitool ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command).source(source).render(&mut page).map_err(Failure::Output)?;
    context.console.show(&page)
}
