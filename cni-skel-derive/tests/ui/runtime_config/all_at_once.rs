use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
#[cni(crate = 1)]
struct It {
    #[cni(rename = "MAC")]
    mac: String,
    #[cni(name = "ips", rename)]
    ips: Vec<String>,
    #[cni(rename = "ips")]
    other: Vec<String>,
}

fn main() {}
