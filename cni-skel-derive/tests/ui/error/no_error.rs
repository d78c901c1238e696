use cni_skel::CniError;

#[derive(Debug, CniError)]
#[cni(code = 142)]
struct PoolError;

fn main() {}
