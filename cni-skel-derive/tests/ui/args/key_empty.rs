use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    #[cni(rename = "")]
    ip: String,
}

fn main() {}
