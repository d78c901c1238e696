use cni_skel::CniPlugin;

struct Runtime;

#[derive(CniPlugin)]
#[cni(name = "hello", runtime = Runtime)]
struct Hello;

fn main() {}
