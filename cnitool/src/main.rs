//! The command line over `libcni`: runs network configurations as Go's `cnitool` does, and tells what happened.
//!
//! | module | what it decides |
//! | --- | --- |
//! | `cli` | what can be typed |
//! | `env` | what was meant: flags over environment over defaults |
//! | `netns` | the container ID of a network namespace |
//! | `cmd` | what each subcommand does |
//! | `file` | how much of a file is read |
//! | `lint` | what plugins' descriptions say of a configuration |
//! | `redact` | what is hidden in what is told |
//! | `trace` | what is recorded of each run of a plugin |
//! | `output` | every text that a user sees |

mod cli;
mod cmd;
mod env;
mod failure;
mod file;
mod lint;
mod netns;
mod output;
mod redact;
mod trace;

use std::process::ExitCode;

// musl's asks the kernel for each size of its own and gives back early: a hundred calls for the command line alone.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    match cli::Cli::of(&env::words()) {
        Ok(cli) => cmd::run(cli),
        Err(error) => output::clap(&error),
    }
}
