//! The `noop` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    noop::main()
}
