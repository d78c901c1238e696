// Once is enough.
use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

#[cni_skel::plugin]
#[cni_skel::plugin]
impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}

fn main() {}
