use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", versions = "0.4.0..=2.0.0")]
struct Hello;

fn main() {}
