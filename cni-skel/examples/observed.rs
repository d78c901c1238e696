//! A plugin that logs, so that the tests can see where that goes.
//!
//! With `OWN_SUBSCRIBER` in its environment it sets up its own subscriber, as some authors do.

use std::process::ExitCode;

use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Error, ErrorCode, Plugin, Result};

#[derive(CniPlugin)]
#[cni(name = "observed", about = "logs what it does")]
struct Observed;

#[cni_skel::plugin]
impl Plugin for Observed {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        tracing::info!(version = %req.version(), "adding");
        tracing::debug!("with care");
        std::thread::scope(|scope| {
            scope.spawn(|| tracing::warn!("from another thread"));
        });
        if req.wants_ipam() { Ok(req.ipam()?.add()?.commit()) } else { Ok(req.result()) }
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Err(Error::new(ErrorCode::TRY_AGAIN, "not yet"))
    }
}

fn main() -> ExitCode {
    if std::env::var_os("OWN_SUBSCRIBER").is_some() {
        tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stderr).without_time().init();
        tracing::info!("mine");
    }
    cni_skel::run(&Observed)
}
