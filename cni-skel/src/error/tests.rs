use std::io;

use super::{CodedError, Error, ResultExt};
use crate::types::{Cidr, CniArgs, ErrorCode, ErrorObject, InterfaceName, VersionedResult};

#[derive(Debug, thiserror::Error)]
enum PoolError {
    #[error("the pool {0:?} is exhausted")]
    Exhausted(String),
    #[error("cannot read the pool")]
    Unreadable(#[source] io::Error),
}

impl CodedError for PoolError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Exhausted(_) => ErrorCode::PLUGIN_NOT_AVAILABLE,
            Self::Unreadable(_) => ErrorCode::new(101),
        }
    }

    fn details(&self) -> Option<String> {
        matches!(self, Self::Exhausted(_)).then(|| "no address is left".to_owned())
    }
}

fn object(error: impl Into<Error>) -> ErrorObject {
    error.into().to_object()
}

/// As `CniPlugin::coded` of a plugin that declares `PoolError`.
fn declared(error: &Error) -> ErrorObject {
    error.to_object_with(|error| error.downcast_ref::<PoolError>().map(|error| error as &dyn CodedError))
}

#[test]
fn any_error_has_its_message_with_those_of_its_sources() {
    let error = object(PoolError::Unreadable(io::Error::other("disk on fire")));
    assert_eq!(
        (error.code(), error.msg.as_str()),
        (ErrorCode::INTERNAL, "cannot read the pool: disk on fire")
    );
}

#[test]
fn the_sdks_own_errors_have_their_codes() {
    assert_eq!(object("x".parse::<Cidr>().unwrap_err()).code(), ErrorCode::INTERNAL);
    assert_eq!(object("x".parse::<CniArgs>().unwrap_err()).code(), ErrorCode::INVALID_ENVIRONMENT);
    assert_eq!(object(InterfaceName::new("a/b").unwrap_err()).code(), ErrorCode::INVALID_ENVIRONMENT);
    assert_eq!(object(VersionedResult::decode(b"{").unwrap_err()).code(), ErrorCode::DECODING_FAILURE);
}

#[test]
fn a_declared_type_has_its_code_and_details_under_any_context() {
    let error = Err::<(), _>(PoolError::Exhausted("a".to_owned())).context("allocating").unwrap_err();
    let object = declared(&error.context("ADD"));
    assert_eq!(object.code(), ErrorCode::PLUGIN_NOT_AVAILABLE);
    assert_eq!(object.msg, "ADD: allocating: the pool \"a\" is exhausted");
    assert_eq!(object.details, "no address is left");
    let coded = Error::coded(PoolError::Exhausted("a".to_owned())).to_object();
    assert_eq!(coded.code(), ErrorCode::PLUGIN_NOT_AVAILABLE, "without a declaration, too");
}

#[test]
fn a_delegates_error_keeps_code_and_details() {
    let inner = ErrorObject::new(ErrorCode::TRY_AGAIN, "busy").with_details("pool \"a\"");
    let object = Err::<(), _>(inner).context("asking host-local").unwrap_err().to_object();
    assert!(object.is_try_again());
    assert_eq!((object.msg.as_str(), object.details.as_str()), ("asking host-local: busy", "pool \"a\""));
}

#[test]
fn the_authors_code_and_details_win() {
    let result: Result<(), _> = Err(ErrorObject::new(ErrorCode::TRY_AGAIN, "busy").with_details("x"));
    let object = result.code(ErrorCode::new(142)).unwrap_err().with_details("y").to_object();
    assert_eq!((object.code(), object.details.as_str()), (ErrorCode::new(142), "y"));
}

#[test]
fn several_errors_are_one_with_every_message() {
    assert!(Error::all([]).is_none());
    let object =
        Error::all([Error::new(ErrorCode::new(101), "first"), Error::message("second")]).unwrap().to_object();
    assert_eq!(object.code(), ErrorCode::new(101));
    assert!(object.details.contains("first") && object.details.contains("second"), "{object}");
    let codes = |errors: [Error; 3]| Error::all(errors).unwrap().to_object().code();
    let coded = |code| Error::new(ErrorCode::new(code), "coded");
    assert_eq!(
        codes([Error::message("plain"), coded(101), coded(102)]),
        ErrorCode::new(101),
        "the first that says one"
    );
    assert_eq!(codes([Error::message("a"), Error::message("b"), Error::message("c")]), ErrorCode::INTERNAL);
}

#[test]
fn c102_conditions_are_told_by_predicates() {
    assert!(object(ErrorObject::new(ErrorCode::TRY_AGAIN, "later")).is_try_again());
    assert!(object(ErrorObject::new(ErrorCode::UNKNOWN_CONTAINER, "gone")).needs_no_cleanup());
    let object = object(ErrorObject::new(ErrorCode::IO_FAILURE, "read").with_details("stdin"));
    assert!(!object.is_try_again() && !object.needs_no_cleanup());
    assert_eq!(object.details, "stdin");
}

#[test]
fn a_cause_can_be_had_back() {
    let error = Error::from(PoolError::Unreadable(io::Error::from(io::ErrorKind::NotFound))).context("x");
    assert!(error.downcast_ref::<PoolError>().is_some());
    assert_eq!(error.downcast_ref::<io::Error>().map(io::Error::kind), Some(io::ErrorKind::NotFound));
}
