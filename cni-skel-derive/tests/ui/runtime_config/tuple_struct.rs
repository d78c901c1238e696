use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It(String);

fn main() {}
