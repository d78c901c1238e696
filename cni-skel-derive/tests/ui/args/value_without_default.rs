use cni_skel::CniArgs;

#[derive(CniArgs)]
struct It {
    ip: std::net::IpAddr,
}

fn main() {}
