use cni_skel::RuntimeConfig;

#[derive(serde::Deserialize)]
struct Thing {
    _size: u8,
}

#[derive(RuntimeConfig)]
struct It {
    thing: Thing,
}

fn main() {}
