//! `impl RuntimeConfig` and `impl CniArgs`: a value for each field of a struct.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use super::{implement, is_generic, local};
use crate::ast::{Record, RecordField};

pub(super) fn runtime_config(record: &Record<'_>, names: &[String]) -> TokenStream {
    let krate = &record.target.krate;
    let fields = record.fields.iter().zip(names).map(|(RecordField { ident, ty, .. }, name)| {
        // Through the type as the author wrote it: a bound that it lacks is told there.
        quote!(#ident: #krate::__private::capability::<#ty>(__cni_values, #name)?)
    });
    let body = quote! {
        const CAPABILITIES: &'static [&'static ::core::primitive::str] = &[#(#names),*];

        fn from_values(
            __cni_values: &#krate::types::config::capability::Values,
        ) -> ::core::result::Result<Self, #krate::types::DecodeError> {
            let _ = __cni_values;
            ::core::result::Result::Ok(Self { #(#fields),* })
        }
    };
    let bound = quote!(#krate::__private::DeserializeOwned + ::core::default::Default);
    implement(&record.target, "RuntimeConfig", &predicates(record, &bound), &body)
}

pub(super) fn args(record: &Record<'_>, keys: &[String]) -> TokenStream {
    let krate = &record.target.krate;
    let locals: Vec<_> = (0..record.fields.len()).map(|at| local(at, Span::call_site())).collect();
    let types = record.fields.iter().map(|field| field.ty);
    // One pass in the order of the pairs: of several faults the first is told, as Go does.
    let arms = record.fields.iter().zip(keys).zip(&locals).map(|((RecordField { ty, .. }, key), local)| {
        let value = quote!(<#ty as #krate::ArgValue>::from_value(__cni_key, __cni_value)?);
        quote!(#key => #local = ::core::option::Option::Some(#value),)
    });
    let fields = record.fields.iter().zip(&locals).map(|(RecordField { ident, ty, .. }, local)| {
        quote! {
            #ident: match #local {
                ::core::option::Option::Some(__cni_value) => __cni_value,
                ::core::option::Option::None => <#ty as #krate::__private::WhenAbsent>::when_absent(),
            }
        }
    });
    let check_known = if record.attrs.ignore_unknown.is_given() {
        TokenStream::new()
    } else {
        quote!(#krate::types::CniArgs::check_known(__cni_args, <Self as #krate::CniArgs>::KEYS)?;)
    };
    let body = quote! {
        const KEYS: &'static [&'static ::core::primitive::str] = &[#(#keys),*];

        fn from_args(
            __cni_args: &#krate::types::CniArgs,
        ) -> ::core::result::Result<Self, #krate::types::args::InvalidArgs> {
            #(let mut #locals: ::core::option::Option<#types> = ::core::option::Option::None;)*
            for (__cni_key, __cni_value) in #krate::types::CniArgs::iter(__cni_args) {
                match __cni_key {
                    #(#arms)*
                    #krate::types::args::IGNORE_UNKNOWN => {
                        #krate::types::args::parse_bool(__cni_key, __cni_value)?;
                    }
                    _ => {}
                }
            }
            #check_known
            ::core::result::Result::Ok(Self { #(#fields),* })
        }
    };
    let bound = quote!(#krate::ArgValue + ::core::default::Default);
    implement(&record.target, "CniArgs", &predicates(record, &bound), &body)
}

fn predicates(record: &Record<'_>, bound: &TokenStream) -> Vec<TokenStream> {
    let types = record.fields.iter().map(|field| field.ty);
    types.filter(|ty| is_generic(record.target.generics, ty)).map(|ty| quote!(#ty: #bound)).collect()
}
