//! `impl RuntimeConfig` and `impl CniArgs`: a value for each field of a struct.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::{implement, is_generic, local};
use crate::ast::{Record, RecordField};

pub(super) fn runtime_config(record: &Record<'_>, names: &[String]) -> TokenStream {
    let krate = &record.target.krate;
    let fields = record.fields.iter().zip(names).map(|(RecordField { ident, ty, .. }, name)| {
        let read = quote_spanned!(ty.span()=> #krate::__private::capability::<#ty>);
        quote!(#ident: #read(__cni_values, #name)?)
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
    let locals: Vec<_> = record.fields.iter().enumerate().map(|(at, field)| local(at, field.ty.span())).collect();
    let types = record.fields.iter().map(|field| field.ty);
    // One pass in the order of the pairs: of several faults the first is told, as Go does.
    let arms = record.fields.iter().zip(keys).zip(&locals).map(|((RecordField { ty, .. }, key), local)| {
        let read = quote_spanned!(ty.span()=> <#ty as #krate::ArgValue>::from_value);
        quote!(#key => #local = ::core::option::Option::Some(#read(__cni_key, __cni_value)?),)
    });
    let fields = record.fields.iter().zip(&locals).map(|(RecordField { ident, ty, .. }, local)| {
        let default = quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default);
        quote! {
            #ident: match #local {
                ::core::option::Option::Some(__cni_value) => __cni_value,
                ::core::option::Option::None => #default(),
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
