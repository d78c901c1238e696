// A method that the trait does not have is told by the compiler, with or without the attribute.
use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

#[cni_skel::plugin]
impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }

    fn chek(&self) -> Result<()> {
        Ok(())
    }
}

fn main() {}
