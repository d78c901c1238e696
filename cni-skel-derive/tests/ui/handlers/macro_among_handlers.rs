// What the macro writes cannot be seen, so a list would lie.
use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

macro_rules! del {
    () => {
        fn del(&self, _: &DelRequest<Self>) -> Result<()> {
            Ok(())
        }
    };
}

#[cni_skel::plugin]
impl Plugin for Hello {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    del!();
}

fn main() {}
