// An impl of no trait.
use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

#[cni_skel::plugin]
impl Hello {
    fn check(&self) {}
}

fn main() {}
