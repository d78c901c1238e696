use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    ip: String,
    #[cni(rename = "IP")]
    address: String,
}

fn main() {}
