use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello", errors = PoolError)]
struct Hello;

fn main() {}
