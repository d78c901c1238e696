//! Type, lifetime and constant parameters, with bounds, defaults and where clauses.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;

use cni_skel::types::config::capability::Values;
use cni_skel::{CniArgs, CniError, CniPlugin, CodedError, RuntimeConfig};
use serde::Deserialize;

#[derive(Deserialize)]
struct Config<T> {
    it: T,
}

#[derive(RuntimeConfig)]
struct Runtime<T, const N: usize = 2>
where
    T: Clone,
{
    ips: Vec<T>,
    mac: Option<T>,
    #[cni(rename = "marker")]
    _marker: PhantomData<[(); N]>,
}

#[derive(CniArgs)]
struct Args<A, B: Default> {
    first: Option<A>,
    second: B,
}

#[derive(CniPlugin)]
#[cni(name = "generic", config = Config<T>, runtime = Runtime<T>, args = A)]
struct Generic<'a, T: Clone, A = ()>(PhantomData<(&'a T, A)>);

#[derive(Debug, thiserror::Error, CniError)]
enum Errors<'a, T: Debug, E: CodedError + 'static> {
    #[error("bad {0:?}")]
    #[cni(code = 100, details = "{0:?} is bad")]
    Bad(T),
    #[error("lent")]
    #[cni(code = 101, details = "{0}")]
    Lent(&'a str),
    #[error(transparent)]
    #[cni(transparent)]
    Other(E),
}

#[derive(Debug, thiserror::Error, CniError)]
#[error("{it}")]
#[cni(code = 102, details = "{it} {it:?}")]
struct Shown<T>
where
    T: Display + Debug,
{
    it: T,
}

#[test]
fn parameters_are_passed_on() {
    type Plugin = Generic<'static, u8, Args<bool, String>>;
    assert_eq!(Plugin::NAME, "generic");
    assert_eq!(serde_json::from_str::<<Plugin as CniPlugin>::Config>(r#"{"it": 1}"#).unwrap().it, 1);
    let args = <Plugin as CniPlugin>::Args::parse("FIRST=1;SECOND=x").unwrap();
    assert_eq!((args.first, args.second.as_str()), (Some(true), "x"));

    let values: Values = serde_json::from_str(r#"{"ips": ["a", "b"], "mac": "c"}"#).unwrap();
    let runtime = Runtime::<String>::from_values(&values).unwrap();
    assert_eq!((runtime.ips.len(), runtime.mac.as_deref()), (2, Some("c")));
}

#[test]
fn errors_ask_of_parameters_what_their_own_impl_asks() {
    let bad: Errors<'_, _, Shown<u8>> = Errors::Bad('x');
    assert_eq!(bad.details().as_deref(), Some("'x' is bad"));
    let lent: Errors<'_, u8, Shown<u8>> = Errors::Lent("it");
    assert_eq!(lent.code().value(), 101);
    let other: Errors<'_, u8, _> = Errors::Other(Shown { it: 'x' });
    assert_eq!((other.code().value(), other.details().as_deref()), (102, Some("x 'x'")));
}
