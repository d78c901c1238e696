use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", config = ())]
#[cni(config = Vec<u8>)]
struct Hello;

fn main() {}
