use cni_skel::CniError;

#[derive(Debug, CniError)]
enum PoolError {
    #[cni(code = 0)]
    Empty,
}

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the pool is empty")
    }
}

impl std::error::Error for PoolError {}

fn main() {}
