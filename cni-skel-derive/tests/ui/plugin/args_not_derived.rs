use cni_skel::CniPlugin;

struct Args;

#[derive(CniPlugin)]
#[cni(name = "hello", args = Args)]
struct Hello;

fn main() {}
