//! Errors of every shape have their codes and details, alone and as a plugin's.

use cni_skel::{CniError, CniPlugin, CodedError, Error, ErrorCode};

#[derive(Debug, thiserror::Error, CniError)]
#[cni(code = 100)]
enum PoolError {
    #[error("the pool {0} is empty")]
    #[cni(code = 142, details = "{{pool}} {0:?} of {1:>3}")]
    Empty(String, u8),
    #[error("{name} is locked")]
    #[cni(code = TRY_AGAIN, details = "{name:-^6} by {holder}, {name}")]
    Locked { name: String, holder: u32 },
    #[error(transparent)]
    #[cni(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    #[cni(transparent)]
    Boxed(Box<StoreError>),
    #[error("something else")]
    Other,
}

#[derive(Debug, thiserror::Error, CniError)]
#[error("the store is broken")]
#[cni(code = 999, details = "{path}, 0x{byte:02X}")]
struct StoreError {
    path: &'static str,
    byte: u8,
}

#[derive(Debug, thiserror::Error, CniError)]
#[error("not found")]
#[cni(code = UNKNOWN_CONTAINER)]
struct Unknown;

#[derive(Debug, thiserror::Error, CniError)]
#[error(transparent)]
#[cni(transparent)]
struct Wrapper(PoolError);

#[derive(Debug, thiserror::Error, CniError)]
enum Never {}

/// A plain struct, without thiserror.
#[derive(Debug, CniError)]
#[cni(code = 143, details = "plain")]
struct Plain {
    _field: u8,
}

impl std::fmt::Display for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("plain")
    }
}

impl std::error::Error for Plain {}

fn told(error: &impl CodedError) -> (u64, Option<String>) {
    (error.code().value(), error.details())
}

#[test]
fn every_shape_has_its_code_and_details() {
    let store = || StoreError { path: "/var/lib", byte: 10 };
    let locked = PoolError::Locked { name: "a".to_owned(), holder: 7 };
    assert_eq!(told(&PoolError::Empty("a".to_owned(), 9)), (142, Some("{pool} \"a\" of   9".to_owned())));
    assert_eq!(told(&locked), (11, Some("--a--- by 7, a".to_owned())));
    assert_eq!(told(&PoolError::Store(store())), (999, Some("/var/lib, 0x0A".to_owned())));
    assert_eq!(told(&PoolError::Boxed(Box::new(store()))).0, 999);
    assert_eq!(told(&PoolError::Other), (100, None));
    assert_eq!(told(&Unknown), (3, None));
    assert_eq!(told(&Wrapper(locked)).0, 11);
    assert_eq!(told(&Wrapper(store().into())), (999, Some("/var/lib, 0x0A".to_owned())));
    assert_eq!(told(&Plain { _field: 1 }), (143, Some("plain".to_owned())));
    assert!(Vec::<Never>::new().iter().all(|never| told(never).0 > 0));
}

#[derive(CniPlugin)]
#[cni(name = "pool", errors(PoolError, Unknown))]
struct Pool;

#[derive(CniPlugin)]
#[cni(name = "other")]
struct Other;

#[test]
fn a_plugin_gives_its_errors_their_codes_wherever_they_are_in_the_chain() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] PoolError);

    let outer = || Error::from(Outer(PoolError::Empty("a".to_owned(), 9)));
    let object = outer().to_object_for::<Pool>();
    assert_eq!(object.code().value(), 142);
    assert_eq!(object.details, "{pool} \"a\" of   9");
    assert_eq!(outer().to_object_for::<Other>().code(), ErrorCode::INTERNAL);
    assert_eq!(Error::from(Unknown).to_object_for::<Pool>().code(), ErrorCode::UNKNOWN_CONTAINER);
    assert!(Pool::coded(&std::fmt::Error).is_none());
}
