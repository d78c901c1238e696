use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It {
    mac: String,
    #[cni(rename = "mac")]
    address: String,
}

fn main() {}
