use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
enum It {
    Mac(String),
}

fn main() {}
