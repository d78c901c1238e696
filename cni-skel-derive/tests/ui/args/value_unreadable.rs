use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    ip: Option<Vec<u8>>,
}

fn main() {}
