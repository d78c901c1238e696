use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni = "hello"]
struct Hello;

fn main() {}
