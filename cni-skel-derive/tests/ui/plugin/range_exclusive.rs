use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", versions = "0.4.0..1.1.0")]
struct Hello;

fn main() {}
