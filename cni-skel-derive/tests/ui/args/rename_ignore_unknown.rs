use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    #[cni(rename = "IgnoreUnknown")]
    ignore: bool,
}

fn main() {}
