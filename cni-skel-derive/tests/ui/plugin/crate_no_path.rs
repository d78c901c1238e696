use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", crate = "not a path")]
struct Hello;

fn main() {}
