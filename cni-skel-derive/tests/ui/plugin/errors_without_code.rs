use cni_skel::CniPlugin;

#[derive(Debug)]
struct PoolError;

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the pool is empty")
    }
}

impl std::error::Error for PoolError {}

#[derive(CniPlugin)]
#[cni(name = "hello", errors(std::io::Error, PoolError))]
struct Hello;

fn main() {}
