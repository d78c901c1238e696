//! A plugin with async handlers, as a process for the tests.
//!
//! `CNI_ARGS=DO=…` says what ADD does: `print` to stdout, `panic`, or nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use cni_skel::{AddRequest, AddResult, AsyncPlugin, CniArgs, CniPlugin, DelRequest, Result};

#[derive(CniArgs)]
struct Args {
    r#do: Option<String>,
}

#[derive(serde::Deserialize)]
struct Config {
    /// Written when the task is dropped that ADD leaves behind.
    marker: PathBuf,
}

#[derive(CniPlugin)]
#[cni(name = "native", about = "awaits", args = Args, config = Config)]
struct Native;

/// Writes a file when it is dropped.
struct Marker(PathBuf);

impl Drop for Marker {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "dropped");
    }
}

#[cni_skel::plugin]
impl AsyncPlugin for Native {
    async fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let marker = Marker(req.config().marker.clone());
        tokio::spawn(async move {
            let _marker = marker;
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
        #[allow(clippy::print_stdout, reason = "this is what must not get into the reply")]
        match req.args().r#do.as_deref() {
            Some("print") => tokio::task::spawn_blocking(|| println!("from a task")).await?,
            Some("panic") => panic!("out of luck"),
            _ => {}
        }
        let mut result = req.result();
        result.add_interface(req.interface());
        Ok(result)
    }

    async fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}

fn main() -> ExitCode {
    cni_skel::run(&Native)
}
