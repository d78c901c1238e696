//! Gives out the addresses that the configuration or the runtime names. Nothing is kept, so there is nothing to give back.

use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

/// The static plugin.
#[derive(Debug, CniPlugin)]
#[cni(name = "static", about = "gives out the addresses that the configuration or the runtime names")]
pub struct Static;

impl Plugin for Static {
    fn add(&self, _: &AddRequest<Self>) -> Result<AddResult> {
        Ok(AddResult::default())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}
