use cni_skel::CniPlugin;

struct Config;

#[derive(CniPlugin)]
#[cni(name = "hello", config = Config)]
struct Hello;

fn main() {}
