use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It {
    #[cni(capability = "mac")]
    address: String,
}

fn main() {}
