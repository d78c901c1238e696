use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "")]
struct Hello;

fn main() {}
