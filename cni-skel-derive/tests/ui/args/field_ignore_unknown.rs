use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    ignore_unknown: bool,
}

fn main() {}
