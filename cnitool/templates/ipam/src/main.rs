//! The `my-plugin` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cni_skel::run(&my_plugin::MyPlugin)
}
