use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", verison = "1.2.0")]
struct Hello;

fn main() {}
