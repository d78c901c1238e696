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

#[test]
fn whatever_a_question_mark_takes_says_what_went_wrong() {
    macro_rules! said {
        ($($attempt:expr),* $(,)?) => {
            [$(object((|| -> super::Result<()> { let _ = $attempt?; Ok(()) })().unwrap_err()).msg),*].join("\n")
        };
    }
    let said = said![
        std::fs::read("/does/not/exist"),
        "x".parse::<u8>(),
        "10.0.0".parse::<std::net::IpAddr>(),
        "10.0.0.5".parse::<Cidr>(),
        "0a:58".parse::<crate::MacAddr>(),
        "1.3".parse::<crate::CniVersion>(),
        serde_json::from_str::<u8>("{}"),
        String::from_utf8(vec![0xff]),
        std::sync::mpsc::channel::<()>().1.try_recv(),
        Err::<(), _>(ErrorObject::new(ErrorCode::TRY_AGAIN, "later")),
        Err::<(), _>(Error::new(ErrorCode::TRY_AGAIN, "later")),
    ];
    insta::assert_snapshot!(said, @r#"
    No such file or directory (os error 2)
    invalid digit found in string
    invalid IP address syntax
    invalid CIDR address: "10.0.0.5", expected an address and prefix length such as "10.1.0.5/16"
    invalid MAC address "0a:58", expected six bytes such as "00:11:22:aa:bb:cc"
    "1.3" is not a version, expected three numbers such as "1.0.0"
    invalid type: map, expected u8 at line 1 column 0
    invalid utf-8 sequence of 1 bytes from index 0
    receiving on an empty channel
    later
    later
    "#);
}

#[test]
fn an_error_that_says_nothing_else_names_its_line() {
    fn missing() -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn bare() -> super::Result<()> {
        Ok(missing()?)
    }
    fn told() -> super::Result<()> {
        missing().context("reading the pool")
    }
    let details = |error: Error| object(error).details;
    let bare = details(bare().unwrap_err());
    assert!(bare.starts_with("from ") && bare.contains("error/tests.rs:"), "{bare}");
    assert_eq!(details(told().unwrap_err()), "");
    assert_eq!(details(Error::from(io::Error::other("x")).context("late")), "");
    assert_eq!(details(Error::from(io::Error::other("x")).with_details("mine")), "mine");
    assert!(details(io::Error::other("x").into()).contains("error/tests.rs:"));
    // What has a code says what it is, also without details.
    assert_eq!(details(Error::from(ErrorObject::new(ErrorCode::INTERNAL, "x"))), "");
    assert_eq!(details(Error::coded(PoolError::Unreadable(io::Error::other("x")))), "");
}

#[test]
fn a_boxed_error_is_seen_through() {
    let boxed = |error: PoolError| Box::<dyn std::error::Error + Send + Sync>::from(error);
    let error = Error::boxed(boxed(PoolError::Exhausted("a".to_owned()))).context("allocating");
    assert!(error.downcast_ref::<PoolError>().is_some());
    assert_eq!(declared(&error).code(), ErrorCode::PLUGIN_NOT_AVAILABLE);
    assert_eq!(declared(&error).msg, "allocating: the pool \"a\" is exhausted");
    assert_eq!(object(Error::boxed("as text")).msg, "as text");
}

#[test]
fn it_passes_where_any_error_does() {
    fn plain() -> Result<(), Box<dyn std::error::Error>> {
        Ok(Err(Error::new(ErrorCode::TRY_AGAIN, "later"))?)
    }
    fn sent() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(Err(Error::new(ErrorCode::TRY_AGAIN, "later").context("asking"))?)
    }
    assert_eq!(plain().unwrap_err().to_string(), "later (code 11)");
    // And back, with nothing lost.
    let back = object(Error::boxed(sent().unwrap_err()));
    assert_eq!((back.code(), back.msg.as_str()), (ErrorCode::TRY_AGAIN, "asking: later"));
}
