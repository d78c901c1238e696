//! The shapes that the value of a key can have. What a value means is decided in `validate`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Lit, LitInt, LitStr, Path, Result, Token, Type, bracketed, parenthesized, token};

use super::Key;

/// What `versions = …` was written as.
pub(crate) enum Versions {
    /// `"1.0.0"`, or a range such as `"0.3.1..=1.1.0"`.
    Text(LitStr),
    /// `["0.4.0", "1.0.0"]`.
    List {
        /// The brackets, to underline when there is nothing in them.
        brackets: Span,
        items: Vec<LitStr>,
    },
}

/// What `code = …` was written as.
pub(crate) enum Code {
    /// `142`
    Number(LitInt),
    /// `TRY_AGAIN`
    Name(Ident),
}

/// `key = "…"`
pub(super) fn text(key: &Key<'_>, input: ParseStream<'_>) -> Result<LitStr> {
    let shape = format!("`{} = \"…\"`", key.word);
    equals(key, input, &shape)?;
    if input.peek(LitStr) { input.parse() } else { Err(expected(key, input, &shape)) }
}

/// `key = Type`
pub(super) fn ty(key: &Key<'_>, input: ParseStream<'_>) -> Result<Type> {
    let shape = format!("`{} = Type`", key.word);
    equals(key, input, &shape)?;
    if at_end(input) || input.peek(Lit) { Err(expected(key, input, &shape)) } else { input.parse() }
}

/// `key(Type, …)`
pub(super) fn types(key: &Key<'_>, input: ParseStream<'_>) -> Result<Vec<Type>> {
    if !input.peek(token::Paren) {
        return Err(expected(key, input, &format!("`{}(Type, …)`", key.word)));
    }
    let list;
    parenthesized!(list in input);
    Ok(list.parse_terminated(Type::parse, Token![,])?.into_iter().collect())
}

/// `key`
pub(super) fn flag(key: &Key<'_>, input: ParseStream<'_>) -> Result<Ident> {
    if at_end(input) {
        Ok(key.ident.clone())
    } else {
        Err(expected(key, input, &format!("`{}` without a value", key.word)))
    }
}

/// `crate = "some::path"`; without quotes as well, as `$crate` can be written in no other way.
pub(super) fn path(key: &Key<'_>, input: ParseStream<'_>) -> Result<Path> {
    let shape = format!("`{} = \"some::path\"`", key.word);
    equals(key, input, &shape)?;
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let path = text.parse_with(Path::parse_mod_style);
        path.map_err(|_| Error::new_spanned(text, format!("expected {shape}")))
    } else {
        let found = expected(key, input, &shape);
        input.call(Path::parse_mod_style).map_err(|_| found)
    }
}

/// `key = "…"` or `key = ["…", …]`
pub(super) fn versions(key: &Key<'_>, input: ParseStream<'_>) -> Result<Versions> {
    let shape = format!("`{0} = \"0.4.0..=1.1.0\"` or `{0} = [\"0.4.0\", \"1.0.0\"]`", key.word);
    equals(key, input, &shape)?;
    if input.peek(LitStr) {
        return input.parse().map(Versions::Text);
    }
    if !input.peek(token::Bracket) {
        return Err(expected(key, input, &shape));
    }
    let list;
    let brackets = bracketed!(list in input).span.join();
    let item = |item: ParseStream<'_>| {
        let text = item.parse::<LitStr>();
        text.map_err(|error| Error::new(error.span(), "expected a version in quotes, such as \"1.0.0\""))
    };
    let items = list.parse_terminated(item, Token![,])?.into_iter().collect();
    Ok(Versions::List { brackets, items })
}

/// `key = 142` or `key = TRY_AGAIN`
pub(super) fn code(key: &Key<'_>, input: ParseStream<'_>) -> Result<Code> {
    let shape = format!("`{0} = 142` or `{0} = TRY_AGAIN`", key.word);
    equals(key, input, &shape)?;
    if input.peek(LitInt) {
        input.parse().map(Code::Number)
    } else if input.peek(Ident) && !input.peek2(Token![::]) {
        input.parse().map(Code::Name)
    } else {
        Err(expected(key, input, &shape))
    }
}

/// Passes over `=`.
fn equals(key: &Key<'_>, input: ParseStream<'_>, shape: &str) -> Result<()> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>().map(|_| ())
    } else {
        Err(expected(key, input, shape))
    }
}

/// The error for a value of the wrong shape: underlines what stands there, or the key if there is nothing.
fn expected(key: &Key<'_>, input: ParseStream<'_>, shape: &str) -> Error {
    let rest = input.fork();
    let mut found = TokenStream::new();
    while !at_end(&rest) {
        match rest.parse::<TokenTree>() {
            Ok(token) => token.to_tokens(&mut found),
            Err(error) => return error,
        }
    }
    if found.is_empty() {
        Error::new_spanned(&key.ident, format!("expected {shape}"))
    } else {
        Error::new_spanned(found, format!("expected {shape}"))
    }
}

/// Whether the entry ends here.
fn at_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}
