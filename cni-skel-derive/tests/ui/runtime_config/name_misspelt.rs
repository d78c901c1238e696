use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It {
    #[cni(rename = "portmappings")]
    ports: Vec<u8>,
}

fn main() {}
