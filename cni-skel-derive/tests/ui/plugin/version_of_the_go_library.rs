use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", versions = ["1.0.0", "1.3.0"])]
struct Hello;

fn main() {}
