use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", deny_unknown_keys = true)]
struct Hello;

fn main() {}
