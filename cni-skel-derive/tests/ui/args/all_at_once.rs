use cni_skel::CniArgs;

#[derive(CniArgs)]
#[cni(ignore_unknown = true)]
struct It {
    ignore_unknown: bool,
    #[cni(rename = "a;b", rename = "c")]
    ab: String,
    ip: String,
    #[cni(rename = "IP")]
    address: String,
}

fn main() {}
