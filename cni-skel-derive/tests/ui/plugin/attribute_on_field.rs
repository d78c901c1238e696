use cni_skel::CniPlugin;

#[derive(CniPlugin)]
#[cni(name = "hello")]
struct Hello {
    #[cni(rename = "there")]
    _field: u8,
}

fn main() {}
