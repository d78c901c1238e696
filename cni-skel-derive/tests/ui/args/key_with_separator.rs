use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    #[cni(rename = "a=b")]
    ip: String,
}

fn main() {}
