use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

#[derive(serde::Deserialize)]
struct Config {
    bridge: String,
}

#[derive(CniPlugin)]
#[cni(name = "hello", versions = "1.3.0", config = Config)]
struct Hello;

impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let _bridge: &String = &req.config().bridge;
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}

#[allow(dead_code, reason = "what a plugin has as `main`")]
fn run() -> std::process::ExitCode {
    cni_skel::run(&Hello)
}

fn main() {}
