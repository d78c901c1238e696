use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", name = "goodbye")]
struct Hello;

fn main() {}
