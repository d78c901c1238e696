//! `impl CodedError`.

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Field, Index};

use super::{implement, is_generic, local};
use crate::ast::{Case, ErrorType};
use crate::template::Template;
use crate::validate::{CaseCode, CheckedCase};

pub(super) fn expand(ty: &ErrorType<'_>, checked: &[CheckedCase]) -> TokenStream {
    let krate = &ty.target.krate;
    let cases = || ty.cases.iter().zip(checked);
    let codes = cases().map(|(case, checked)| code(ty, case, checked));
    let details: Vec<_> = cases().filter_map(|(case, checked)| details(ty, case, checked)).collect();
    let details = if details.is_empty() {
        TokenStream::new()
    } else {
        let rest = (details.len() < ty.cases.len()).then(|| quote!(_ => ::core::option::Option::None,));
        quote! {
            fn details(&self) -> ::core::option::Option<::std::string::String> {
                match self {
                    #(#details)*
                    #rest
                }
            }
        }
    };
    // An enum without variants has no value to match, which only its place can tell, not a reference to it.
    let this = if ty.cases.is_empty() { quote!(*self) } else { quote!(self) };
    let body = quote! {
        fn code(&self) -> #krate::types::ErrorCode {
            match #this {
                #(#codes)*
            }
        }
        #details
    };
    implement(&ty.target, "CodedError", &predicates(ty, checked), &body)
}

/// The arm of `fn code`.
fn code(ty: &ErrorType<'_>, case: &Case<'_>, checked: &CheckedCase) -> TokenStream {
    let krate = &ty.target.krate;
    let (fields, code) = match &checked.code {
        CaseCode::Number(number) => (vec![], quote!(#krate::types::ErrorCode::new(#number))),
        CaseCode::Name(name) => (vec![], quote!(#krate::types::ErrorCode::#name)),
        CaseCode::Field => {
            let (local, code) = of_field(ty, case, "code");
            (vec![(0, local)], code)
        }
    };
    let pattern = pattern(case, &fields);
    quote!(#pattern => #code,)
}

/// The arm of `fn details`, if there are any.
fn details(ty: &ErrorType<'_>, case: &Case<'_>, checked: &CheckedCase) -> Option<TokenStream> {
    let (fields, details) = match (&checked.code, &checked.details) {
        (CaseCode::Field, _) => {
            let (local, details) = of_field(ty, case, "details");
            (vec![(0, local)], details)
        }
        (_, Some(template)) => {
            let (fields, text) = text(template);
            (fields, quote!(::core::option::Option::Some(#text)))
        }
        (_, None) => return None,
    };
    let pattern = pattern(case, &fields);
    Some(quote!(#pattern => #details,))
}

/// What the only field says itself.
fn of_field(ty: &ErrorType<'_>, case: &Case<'_>, method: &str) -> (Ident, TokenStream) {
    let krate = &ty.target.krate;
    let (local, method) = (local(0, Span::call_site()), format_ident!("{method}"));
    // Through the type as the author wrote it: that it has no code is told there.
    let types = case.fields.iter().map(|field| &field.ty);
    let call = quote!(#(<#types as #krate::CodedError>::#method(#local))*);
    (local, call)
}

/// The text of the details, and the fields it prints.
fn text(template: &Template) -> (Vec<(usize, Ident)>, TokenStream) {
    let mut fields: Vec<usize> = template.prints.iter().map(|print| print.field).collect();
    fields.sort_unstable();
    fields.dedup();
    let fields: Vec<_> =
        fields.into_iter().map(|field| (field, local(field, template.format.span()))).collect();
    let format = &template.format;
    // Named, not inline: within a macro the text and our locals would not see each other.
    let named = fields.iter().map(|(_, local)| quote!(#local = #local));
    let text = quote!(::std::format!(#format, #(#named),*));
    (fields, text)
}

/// A pattern that binds some of the fields, for structs and variants of every shape.
fn pattern(case: &Case<'_>, fields: &[(usize, Ident)]) -> TokenStream {
    let path = if case.is_variant {
        let variant = case.ident;
        quote!(Self::#variant)
    } else {
        quote!(Self)
    };
    let bindings = fields.iter().map(|(at, local)| {
        let member = member(case.fields.iter().nth(*at), *at);
        quote!(#member: #local,)
    });
    quote!(#path { #(#bindings)* .. })
}

fn member(field: Option<&Field>, at: usize) -> TokenStream {
    match field.and_then(|field| field.ident.as_ref()) {
        Some(ident) => ident.to_token_stream(),
        None => Index::from(at).to_token_stream(),
    }
}

/// What a generic error must be, and what its fields must.
fn predicates(ty: &ErrorType<'_>, checked: &[CheckedCase]) -> Vec<TokenStream> {
    let generics = ty.target.generics;
    if generics.type_params().next().is_none() {
        return Vec::new();
    }
    let krate = &ty.target.krate;
    // Whatever its own `Error` impl asks of the parameters, this one asks, too.
    let mut predicates = vec![quote!(Self: ::core::error::Error)];
    for (case, checked) in ty.cases.iter().zip(checked) {
        let types: Vec<_> = case.fields.iter().map(|field| &field.ty).collect();
        if let CaseCode::Field = checked.code {
            predicates.extend(
                types.iter().filter(|ty| is_generic(generics, ty)).map(|ty| quote!(#ty: #krate::CodedError)),
            );
        }
        for print in checked.details.iter().flat_map(|template| &template.prints) {
            let Some(ty) = types.get(print.field).filter(|ty| is_generic(generics, ty)) else { continue };
            let by = format_ident!("{}", print.by);
            predicates.push(quote!(#ty: ::core::fmt::#by));
        }
    }
    // Several cases may ask the same.
    let mut seen = HashSet::new();
    predicates.retain(|predicate| seen.insert(predicate.to_string()));
    predicates
}
