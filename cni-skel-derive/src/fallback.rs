//! What a derive writes beside its errors: an impl that type-checks, so that one mistake does not make ten more errors
//! where the type is used. It never runs, as nothing with an error does.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::{ErrorType, Plugin, Record};
use crate::expand::implement;
use crate::expand::plugin::{predicates, types};

/// Keeps the author's types, so that handlers are checked against them.
pub(crate) fn plugin(plugin: &Plugin<'_>) -> TokenStream {
    let types = types(plugin);
    let body = quote! {
        #types
        const NAME: &'static ::core::primitive::str = "";
        const ABOUT: &'static ::core::primitive::str = "";
    };
    implement(&plugin.target, "CniPlugin", &predicates(plugin), &body)
}

pub(crate) fn runtime_config(record: &Record<'_>) -> TokenStream {
    let krate = &record.target.krate;
    let body = quote! {
        const CAPABILITIES: &'static [&'static ::core::primitive::str] = &[];
        fn from_values(
            _: &#krate::types::config::capability::Values,
        ) -> ::core::result::Result<Self, #krate::types::DecodeError> {
            ::core::unreachable!()
        }
    };
    implement(&record.target, "RuntimeConfig", &[], &body)
}

pub(crate) fn args(record: &Record<'_>) -> TokenStream {
    let krate = &record.target.krate;
    let body = quote! {
        const KEYS: &'static [&'static ::core::primitive::str] = &[];
        fn from_args(
            _: &#krate::types::CniArgs,
        ) -> ::core::result::Result<Self, #krate::types::args::InvalidArgs> {
            ::core::unreachable!()
        }
    };
    implement(&record.target, "CniArgs", &[], &body)
}

pub(crate) fn error(ty: &ErrorType<'_>) -> TokenStream {
    let krate = &ty.target.krate;
    let body = quote! {
        fn code(&self) -> #krate::types::ErrorCode {
            ::core::unreachable!()
        }
    };
    let generic = ty.target.generics.type_params().next().is_some();
    let predicates = if generic { vec![quote!(Self: ::core::error::Error)] } else { Vec::new() };
    implement(&ty.target, "CodedError", &predicates, &body)
}
