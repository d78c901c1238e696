use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It {
    #[cni(rename = "")]
    nothing: String,
}

fn main() {}
