// Nothing is added to what the compiler says of it.
use cni_skel::{AddRequest, AddResult, CniPlugin, Plugin, Result};

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

#[cni_skel::plugin]
impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }
}

fn main() {}
