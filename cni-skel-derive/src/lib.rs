//! The macros of `cni-skel`, which re-exports them. Entry points and the reference of their attributes; the work of the
//! derives is done stage by stage: `attr` reads, `ast` lowers, `validate` judges, `expand` writes, and `fallback` writes
//! when there was a mistake. `handlers` is the attribute on impl blocks, which shares none of it.
//!
//! Rust 1.89 or later, as the rest of the workspace.

mod ast;
mod attr;
mod ctxt;
mod expand;
mod fallback;
mod handlers;
mod spec;
mod symbol;
mod template;
mod validate;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

#[doc = include_str!("../doc/cni_plugin.md")]
#[proc_macro_derive(CniPlugin, attributes(cni))]
pub fn derive_cni_plugin(input: TokenStream) -> TokenStream {
    expand::cni_plugin(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("../doc/runtime_config.md")]
#[proc_macro_derive(RuntimeConfig, attributes(cni))]
pub fn derive_runtime_config(input: TokenStream) -> TokenStream {
    expand::runtime_config(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("../doc/cni_args.md")]
#[proc_macro_derive(CniArgs, attributes(cni))]
pub fn derive_cni_args(input: TokenStream) -> TokenStream {
    expand::cni_args(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("../doc/cni_error.md")]
#[proc_macro_derive(CniError, attributes(cni))]
pub fn derive_cni_error(input: TokenStream) -> TokenStream {
    expand::cni_error(&parse_macro_input!(input as DeriveInput)).into()
}

#[doc = include_str!("../doc/plugin.md")]
#[proc_macro_attribute]
pub fn plugin(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handlers::plugin(&arguments.into(), item.into()).into()
}

#[cfg(test)]
mod tests;
