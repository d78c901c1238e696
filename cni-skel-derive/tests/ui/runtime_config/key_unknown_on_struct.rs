use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
#[cni(ignore_unknown)]
struct It {
    mac: String,
}

fn main() {}
