use cni_skel::CniArgs;

#[derive(CniArgs)]
#[cni(deny_unknown)]
struct It {
    ip: String,
}

fn main() {}
