use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", versions = "")]
struct Hello;

fn main() {}
