//! Gives out addresses of ranges, reserved in files of this host.

pub mod addr;
pub mod range;

use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

/// The host-local plugin.
#[derive(Debug, CniPlugin)]
#[cni(name = "host-local", about = "gives out addresses of ranges, reserved in files of this host")]
pub struct HostLocal;

impl Plugin for HostLocal {
    fn add(&self, _: &AddRequest<Self>) -> Result<AddResult> {
        Ok(AddResult::default())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}
