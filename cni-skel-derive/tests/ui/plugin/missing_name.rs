use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(about = "says hello")]
struct Hello;

fn main() {}
