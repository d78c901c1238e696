//! What the derives write. Every mistake has been reported before.
//!
//! Names are absolute: `::core::…`, `::std::…` for what allocates, and the path to `cni-skel` that the author may
//! override; locals start with `__cni_`. Each derive writes one impl and no item beside it, so there is nothing that a
//! `const _: () = { … }` around it would hide.

mod error;
pub(crate) mod plugin;
mod record;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{DeriveInput, Generics, Type};

use crate::ast::{ErrorType, Plugin, Record, Target};
use crate::attr::RecordAttrs;
use crate::ctxt::Ctxt;
use crate::{fallback, validate};

/// `#[derive(CniPlugin)]`
pub(crate) fn cni_plugin(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let plugin = Plugin::lower(&cx, input);
    let checked = validate::plugin(&cx, &plugin);
    match cx.check() {
        Ok(()) => plugin::expand(&plugin, &checked),
        Err(errors) => with_fallback(&errors, &fallback::plugin(&plugin)),
    }
}

/// `#[derive(RuntimeConfig)]`
pub(crate) fn runtime_config(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let attrs = RecordAttrs::read_for_runtime(&cx, &input.attrs);
    let record = Record::lower(&cx, input, attrs, "each field is a capability");
    let names = validate::runtime_config(&cx, &record);
    match cx.check() {
        Ok(()) => record::runtime_config(&record, &names),
        Err(errors) => with_fallback(&errors, &fallback::runtime_config(&record)),
    }
}

/// `#[derive(CniArgs)]`
pub(crate) fn cni_args(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let attrs = RecordAttrs::read_for_args(&cx, &input.attrs);
    let record = Record::lower(&cx, input, attrs, "each field is an argument");
    let keys = validate::args(&cx, &record);
    match cx.check() {
        Ok(()) => record::args(&record, &keys),
        Err(errors) => with_fallback(&errors, &fallback::args(&record)),
    }
}

/// `#[derive(CniError)]`
pub(crate) fn cni_error(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let ty = ErrorType::lower(&cx, input);
    let checked: Option<Vec<_>> = validate::error(&cx, &ty).into_iter().collect();
    match (cx.check(), checked) {
        (Ok(()), Some(cases)) => error::expand(&ty, &cases),
        (Ok(()), None) => fallback::error(&ty),
        (Err(errors), _) => with_fallback(&errors, &fallback::error(&ty)),
    }
}

fn with_fallback(errors: &syn::Error, fallback: &TokenStream) -> TokenStream {
    let errors = errors.to_compile_error();
    quote!(#errors #fallback)
}

/// `impl<…> Trait for Type<…> where …` around a body, with predicates beyond the author's own.
pub(crate) fn implement(
    target: &Target<'_>,
    tr: &str,
    predicates: &[TokenStream],
    body: &TokenStream,
) -> TokenStream {
    let Target { ident, generics, krate, is_deprecated } = target;
    let allow = is_deprecated.then(|| quote!(#[allow(deprecated, reason = "the type itself is deprecated")]));
    let tr = Ident::new(tr, Span::call_site());
    let mut generics: Generics = (*generics).clone();
    for predicate in predicates {
        generics.make_where_clause().predicates.push(syn::parse_quote!(#predicate));
    }
    let (params, args, clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #allow
        impl #params #krate::#tr for #ident #args #clause {
            #body
        }
    }
}

/// Whether a type depends on a type parameter, and so needs a predicate of its own.
///
/// A name that only looks like a parameter costs a predicate that holds anyway.
fn is_generic(generics: &Generics, ty: &Type) -> bool {
    fn mentions(tokens: TokenStream, generics: &Generics) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => generics.type_params().any(|param| param.ident == ident),
            TokenTree::Group(group) => mentions(group.stream(), generics),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    mentions(ty.to_token_stream(), generics)
}

/// The local that holds what belongs to a field. Errors about it underline the span.
fn local(field: usize, at: Span) -> Ident {
    format_ident!("{}", crate::template::argument(field), span = Span::call_site().located_at(at))
}
