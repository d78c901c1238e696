use cni_skel::CniError;

#[derive(CniError)]
union PoolError {
    _a: u8,
}

fn main() {}
