//! The derives where every name that an expansion might be tempted to use means something else.

#![allow(non_camel_case_types, dead_code, reason = "the names are the point")]

struct Option;
struct Some;
struct None;
struct Result;
struct Ok;
struct Err;
struct String;
struct Vec;
struct Default;
struct Error;
struct str;
struct bool;
struct usize;
trait CniPlugin {}
trait RuntimeConfig {}
trait CniArgs {}
trait ArgValue {}
trait CodedError {}
mod core {}
mod std {}
mod cni_skel {}
mod alloc {}

macro_rules! shadow {
    ($($name:ident)*) => {
        $(#[allow(unused_macros, reason = "the names are the point")]
        macro_rules! $name {
            () => {
                compile_error!("not this macro")
            };
        })*
    };
}
shadow!(format env panic unreachable matches);

#[derive(::cni_skel::CniPlugin)]
#[cni(name = "shadowed", runtime = Runtime, args = Args, errors(Failure))]
struct Shadowed;

#[derive(::cni_skel::RuntimeConfig)]
struct Runtime {
    values: ::std::vec::Vec<u8>,
    name: u8,
}

#[derive(::cni_skel::CniArgs)]
struct Args {
    args: u8,
    key: u8,
    value: ::core::option::Option<u8>,
}

#[derive(Debug, ::thiserror::Error, ::cni_skel::CniError)]
enum Failure {
    #[error("failed")]
    #[cni(code = 142, details = "{f} {code} {self_}")]
    Failed { f: u8, code: u8, self_: u8 },
    #[error("failed")]
    #[cni(code = TRY_AGAIN)]
    None,
}

/// A method of the same name must not be taken for the trait's.
impl Runtime {
    fn from_values() {}
}

impl Args {
    const KEYS: u8 = 1;
    fn from_args() {}
    fn default() {}
}

impl Failure {
    fn code(&self) -> u8 {
        1
    }
    fn details(&self) -> u8 {
        1
    }
}

#[test]
fn shadowed_names_do_not_matter() {
    assert_eq!(<Shadowed as ::cni_skel::CniPlugin>::NAME, "shadowed");
    assert_eq!(<Args as ::cni_skel::CniArgs>::parse("ARGS=1;KEY=2;VALUE=3").unwrap().key, 2);
    let failed = Failure::Failed { f: 1, code: 2, self_: 3 };
    assert_eq!(::cni_skel::CodedError::details(&failed).unwrap(), "1 2 3");
}
