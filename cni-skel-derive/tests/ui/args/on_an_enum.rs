use cni_skel::CniArgs;

#[derive(CniArgs)]
enum It {
    Ip,
}

fn main() {}
