// The attribute is about handlers.
use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello;

#[cni_skel::plugin]
impl std::fmt::Display for Hello {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hello")
    }
}

trait Del {
    fn del(&self);
}

#[cni_skel::plugin]
impl Del for Hello {
    fn del(&self) {}
}

fn main() {}
