use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It;

fn main() {}
