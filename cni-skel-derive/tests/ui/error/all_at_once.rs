use cni_skel::CniError;

#[derive(Debug, CniError)]
enum PoolError {
    #[cni(code = 11)]
    Busy,
    #[cni(code = 142, details = "{nosuch}")]
    Empty,
    Unknown,
    #[cni(transparent, code = 0)]
    Wrapped,
}

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the pool is empty")
    }
}

impl std::error::Error for PoolError {}

fn main() {}
