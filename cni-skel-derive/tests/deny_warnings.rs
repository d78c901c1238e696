//! A crate that denies everything, as some authors' do: an expansion must not trip a lint of theirs.

#![deny(
    warnings,
    deprecated,
    future_incompatible,
    let_underscore,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_ascii_idents,
    nonstandard_style,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unreachable_pub,
    unused,
    unused_import_braces,
    unused_lifetimes,
    unused_macro_rules,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![deny(clippy::all, clippy::nursery, clippy::pedantic)]
#![deny(
    clippy::absolute_paths,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::default_numeric_fallback,
    clippy::else_if_without_else,
    clippy::exhaustive_enums,
    clippy::impl_trait_in_params,
    clippy::implicit_return,
    clippy::min_ident_chars,
    clippy::missing_docs_in_private_items,
    clippy::missing_inline_in_public_items,
    clippy::missing_trait_methods,
    clippy::mod_module_files,
    clippy::panic,
    clippy::pattern_type_mismatch,
    clippy::question_mark_used,
    clippy::ref_patterns,
    clippy::single_call_fn,
    clippy::single_char_lifetime_names,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
#![forbid(unsafe_code)]

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniArgs, CniError, CniPlugin, CodedError, DelRequest, GcRequest,
    Plugin, Result, RuntimeConfig, StatusRequest,
};

/// The configuration.
#[derive(Debug, serde::Deserialize)]
pub struct Config {
    /// A key.
    pub bridge: String,
}

/// A plugin.
#[derive(Clone, Copy, Debug, CniPlugin)]
#[cni(name = "strict", config = Config, runtime = Runtime, args = Args, errors(Failure, Wrapper), deny_unknown_keys)]
pub struct Strict;

#[cni_skel::plugin]
impl Plugin for Strict {
    #[expect(clippy::implicit_return, reason = "the author's own business")]
    #[inline]
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        Ok(req.result())
    }

    #[expect(clippy::implicit_return, reason = "the author's own business")]
    #[inline]
    fn check(&self, _: &CheckRequest<Self>) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::implicit_return, reason = "the author's own business")]
    #[inline]
    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::implicit_return, reason = "the author's own business")]
    #[inline]
    fn gc(&self, _: &GcRequest<Self>) -> Result<()> {
        Ok(())
    }

    #[expect(clippy::implicit_return, reason = "the author's own business")]
    #[inline]
    fn status(&self, _: &StatusRequest<Self>) -> Result<()> {
        Ok(())
    }
}

/// Its capabilities.
#[derive(Debug, RuntimeConfig)]
#[non_exhaustive]
pub struct Runtime {
    /// An address.
    pub mac: Option<String>,
    /// Addresses.
    pub ips: Vec<Option<String>>,
    /// Another one.
    #[cni(rename = "io.example.old")]
    #[deprecated = "gone"]
    pub old: String,
}

/// Nothing.
#[derive(Clone, Copy, Debug, RuntimeConfig, CniArgs)]
#[non_exhaustive]
pub struct Nothing {}

/// Its arguments.
#[derive(Debug, CniArgs)]
#[non_exhaustive]
pub struct Args {
    /// A name.
    pub k8s_pod_name: Option<String>,
    /// Another one.
    #[deprecated = "gone"]
    pub old: Option<String>,
}

/// A struct that nobody should use.
#[derive(Clone, Copy, Debug, RuntimeConfig)]
#[deprecated = "gone"]
#[non_exhaustive]
pub struct Old {
    /// A number.
    pub number: u8,
}

/// Its errors.
#[derive(Debug, thiserror::Error, CniError)]
#[cni(code = TRY_AGAIN)]
#[non_exhaustive]
pub enum Failure {
    /// The pool is empty.
    #[error("empty")]
    #[cni(code = 142, details = "pool {pool} is empty")]
    Empty {
        /// Which.
        pool: String,
        /// How large.
        size: u8,
    },
    /// What is no longer.
    #[error("old")]
    #[cni(details = "{0}")]
    #[deprecated = "gone"]
    Old(String),
    /// What the store said.
    #[error(transparent)]
    #[cni(transparent)]
    Wrapped(Wrapper),
}

/// A struct as an error.
#[derive(Clone, Copy, Debug, thiserror::Error, CniError)]
#[error("wrapped")]
#[cni(code = 143)]
#[non_exhaustive]
pub struct Wrapper;

#[test]
fn what_was_derived_works() {
    assert_eq!(Strict::NAME, "strict");
    assert!(Strict::coded(&Wrapper).is_some());
    assert_eq!(Runtime::CAPABILITIES, ["mac", "ips", "io.example.old"]);
    assert_eq!(Args::KEYS, ["K8S_POD_NAME", "OLD"]);
    assert_eq!(<Nothing as RuntimeConfig>::CAPABILITIES.len(), <Nothing as CniArgs>::KEYS.len());
    assert_eq!(Failure::Wrapped(Wrapper).code().value(), 143);
}
