use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello" about = "says hello")]
struct Hello;

fn main() {}
