use cni_skel::{CniError, CniPlugin, CodedError};

#[derive(Debug, thiserror::Error, CniError)]
enum PoolError {
    #[error("the pool {0} is empty")]
    #[cni(code = 11)]
    Empty(String),
    #[error("the pool is unknown")]
    #[cni(code = 142)]
    Unknown,
}

#[derive(CniPlugin)]
#[cni(name = "hello", errors(PoolError))]
struct Hello;

fn main() {
    let _ = PoolError::Unknown.code();
    let _ = Hello::coded(&PoolError::Empty("a".to_owned()));
}
