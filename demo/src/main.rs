//! `cargo demo`: a container's network made, verified, cleaned and removed, for real and in plain sight.
//!
//! The program starts itself again in fresh namespaces, one that plays the host and one that is the container, so that
//! nothing of the machine's own network is touched. It is also every plugin that it runs, by the name that it is called
//! under, as `cni-plugins` is: nothing but this build is needed.

mod kernel;
mod lab;
mod print;
mod scenes;

use std::ffi::OsStr;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    if let Some(plugin) = cni_plugins::find(&called) {
        return plugin.run(arguments);
    }
    if arguments.next().as_deref() != Some(OsStr::new(lab::INSIDE)) {
        return lab::enter();
    }
    match lab::Lab::new().and_then(|lab| scenes::play(&lab)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print::failure(&*error);
            ExitCode::FAILURE
        }
    }
}
