use cni_skel::CniPlugin;

#[derive(CniPlugin)]

struct Hello;

fn main() {}
