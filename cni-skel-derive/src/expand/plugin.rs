//! `impl CniPlugin`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Type;

use super::{implement, is_generic};
use crate::ast::Plugin;
use crate::spec;
use crate::validate::CheckedPlugin;

pub(super) fn expand(plugin: &Plugin<'_>, checked: &CheckedPlugin) -> TokenStream {
    let krate = &plugin.target.krate;
    let CheckedPlugin { name, about, versions } = checked;
    let version = match plugin.attrs.version.value() {
        Some(version) => version.to_token_stream(),
        // Expanded where the derive stands: the version of the author's package.
        None => quote!(::core::env!("CARGO_PKG_VERSION")),
    };
    let versions = versions.iter().map(|at| {
        let variant = Ident::new(spec::VERSIONS[*at].1, Span::call_site());
        quote!(#krate::types::CniVersion::#variant)
    });
    let deny_unknown_keys = plugin.attrs.deny_unknown_keys.is_given();
    let types = types(plugin);
    let coded = coded(plugin);
    let unit = syn::parse_quote!(());
    // Through the type as it is: whether it has a schema, nothing but the compiler can tell.
    let config = plugin.attrs.config.value().unwrap_or(&unit);
    let body = quote! {
        #types
        const NAME: &'static ::core::primitive::str = #name;
        const ABOUT: &'static ::core::primitive::str = #about;
        const VERSION: &'static ::core::primitive::str = #version;
        const VERSIONS: &'static [#krate::types::CniVersion] = &[#(#versions),*];
        const DENY_UNKNOWN_KEYS: ::core::primitive::bool = #deny_unknown_keys;
        fn config_schema() -> ::core::option::Option<#krate::__private::Json> {
            #krate::__private::Schema::<#config>::new().find()
        }
        #coded
    };
    implement(&plugin.target, "CniPlugin", &predicates(plugin), &body)
}

/// The associated types: the author's own where they are given.
pub(crate) fn types(plugin: &Plugin<'_>) -> TokenStream {
    let or_unit = |ty: Option<&Type>| ty.map_or_else(|| quote!(()), ToTokens::to_token_stream);
    let config = or_unit(plugin.attrs.config.value());
    let runtime = or_unit(plugin.attrs.runtime.value());
    let args = or_unit(plugin.attrs.args.value());
    quote! {
        type Config = #config;
        type Runtime = #runtime;
        type Args = #args;
    }
}

/// What the associated types of a generic plugin must be.
pub(crate) fn predicates(plugin: &Plugin<'_>) -> Vec<TokenStream> {
    let krate = &plugin.target.krate;
    let bounds = [
        (&plugin.attrs.config, quote!(#krate::__private::DeserializeOwned)),
        (&plugin.attrs.runtime, quote!(#krate::RuntimeConfig)),
        (&plugin.attrs.args, quote!(#krate::CniArgs)),
    ];
    let bounds = bounds.into_iter().filter_map(|(ty, bound)| Some((ty.value()?, bound)));
    bounds
        .filter(|(ty, _)| is_generic(plugin.target.generics, ty))
        .map(|(ty, bound)| quote!(#ty: #bound))
        .collect()
}

/// `fn coded`: the first of the declared types that the error is of.
fn coded(plugin: &Plugin<'_>) -> TokenStream {
    let krate = &plugin.target.krate;
    let Some(types) = plugin.attrs.errors.value() else { return TokenStream::new() };
    // Through the types as the author wrote them: that one has no code is told there.
    let attempts = types.iter().map(|ty| {
        quote! {
            if let ::core::option::Option::Some(__cni_coded) = #krate::__private::coded::<#ty>(__cni_error) {
                return ::core::option::Option::Some(__cni_coded);
            }
        }
    });
    quote! {
        fn coded<'__cni_e>(
            __cni_error: &'__cni_e (dyn ::core::error::Error + 'static),
        ) -> ::core::option::Option<&'__cni_e dyn #krate::CodedError> {
            #(#attempts)*
            ::core::option::Option::None
        }
    }
}
