use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "a/b", verison = "1.2.0", versions = ["1.3.0", "1.0"], config = "Config")]
#[cni(name = "hello", deny_unknown_keys = false, errors(), about)]
struct Hello;

fn main() {}
