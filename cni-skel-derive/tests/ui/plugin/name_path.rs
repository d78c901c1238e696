use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "/opt/cni/bin/hello")]
struct Hello;

fn main() {}
