use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = hello)]
struct Hello;

fn main() {}
