use cni_skel::RuntimeConfig;

#[derive(RuntimeConfig)]
struct It {
    #[cni(rename = "io.example.Thing")]
    first: String,
    #[cni(rename = "io.example.thing")]
    second: String,
}

fn main() {}
