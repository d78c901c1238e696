//! A plugin that does what a plugin should not, so that the SDK's guards can be seen at work by the tests.
//!
//! `CNI_ARGS=DO=…` says what: `print`, `print-partial`, `child`, `panic`, `fail`, `panic-with-lease`, and `panic-outside`,
//! which panics where no handler runs; anything else does nothing wrong. Where there is an IPAM plugin its answer is the result.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use cni_skel::{AddRequest, AddResult, CniArgs, CniPlugin, DelRequest, Dispatcher, Error, Plugin, Result};

#[derive(CniArgs)]
#[cni(ignore_unknown)]
struct Args {
    r#do: Option<String>,
}

#[derive(serde::Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(cni_skel::schemars::JsonSchema),
    schemars(crate = "cni_skel::schemars")
)]
struct Config {
    /// Written when a destructor of the handler runs.
    marker: Option<PathBuf>,
}

#[derive(CniPlugin)]
#[cni(name = "misbehaving", about = "does what a plugin should not", args = Args, config = Config)]
struct Misbehaving;

/// Writes a file when it is dropped.
struct Marker(Option<PathBuf>);

impl Drop for Marker {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::write(path, "dropped");
        }
    }
}

#[cni_skel::plugin]
impl Plugin for Misbehaving {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let _marker = Marker(req.config().marker.clone());
        #[allow(clippy::print_stdout, reason = "this is what must not get into the reply")]
        match req.args().r#do.as_deref() {
            Some("print") => println!("level=info msg=hi"),
            Some("print-partial") => print!("without an end"),
            Some("child") => {
                Command::new("echo").arg("from a child").status()?;
            }
            Some("panic") => panic!("out of luck"),
            Some("panic-with-lease") => {
                let _lease = req.ipam()?.add()?;
                panic!("out of luck");
            }
            Some("fail") => return Err(Error::message("as told")),
            _ => {}
        }
        if req.wants_ipam() { Ok(req.ipam()?.add()?.commit()) } else { Ok(req.result()) }
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        if req.wants_ipam() { req.ipam()?.del() } else { Ok(()) }
    }
}

fn main() -> ExitCode {
    cni_skel::run_with(|call| {
        if call.var("CNI_ARGS").is_some_and(|args| args == "DO=panic-outside") {
            panic!("out of luck");
        }
        Dispatcher::new(&Misbehaving).respond(call)
    })
}
