//! `#[plugin]`: notes in an impl block which methods it writes, since nothing else can tell an overridden method from a
//! default one.
//!
//! Works on tokens. Everything that the author wrote stays as it is; one constant is added. A method that is compiled
//! only sometimes is noted under the same condition.

use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::ext::IdentExt;

use crate::ctxt::Ctxt;

/// What every plugin writes.
const REQUIRED: [&str; 2] = ["add", "del"];

/// `#[plugin]`
pub(crate) fn plugin(arguments: &TokenStream, item: TokenStream) -> TokenStream {
    let cx = Ctxt::new();
    if !arguments.is_empty() {
        cx.error_at(
            arguments,
            "`plugin` takes nothing: what a plugin is stands in `#[cni(…)]` on its type, beside `#[derive(CniPlugin)]`",
        );
    }
    let noted = note(&cx, unwrapped(item.clone()));
    match cx.check() {
        Ok(()) => noted.unwrap_or(item),
        Err(errors) => {
            let errors = errors.to_compile_error();
            quote!(#errors #item)
        }
    }
}

/// The impl block with the note; `None` if there was a mistake.
fn note(cx: &Ctxt, item: TokenStream) -> Option<TokenStream> {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let body = match tokens.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
        last => {
            tokens.extend(last);
            cx.error_at(tokens.into_iter().collect::<TokenStream>(), "expected `impl Plugin for …`");
            return None;
        }
    };
    let Some(tr) = implemented(&tokens) else {
        cx.error_at(tokens.into_iter().collect::<TokenStream>(), "expected `impl Plugin for …`");
        return None;
    };
    let methods = methods(cx, body.stream());
    if !REQUIRED.iter().any(|required| methods.iter().any(|method| method.name == *required)) {
        let tr = tr.iter().cloned().collect::<TokenStream>();
        cx.error_at(tr, "expected an impl of `Plugin`: this one has neither `add` nor `del`");
        return None;
    }
    let handlers = methods.iter().map(|Method { conditions, name }| quote!(#(#conditions)* #name));
    let written = body.stream();
    let mut noted = Group::new(
        Delimiter::Brace,
        quote! {
            #written
            #[doc(hidden)]
            const __HANDLERS: ::core::option::Option<&'static [&'static ::core::primitive::str]> =
                ::core::option::Option::Some(&[#(#handlers),*]);
        },
    );
    noted.set_span(body.span());
    Some(quote!(#(#tokens)* #noted))
}

/// The item without the invisible parentheses that a macro puts around what was passed to it as a whole.
fn unwrapped(item: TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            unwrapped(group.stream())
        }
        _ => item,
    }
}

/// The trait of `impl<…> Trait for Type where …`; `None` for anything else.
fn implemented(head: &[TokenTree]) -> Option<&[TokenTree]> {
    let at = head.iter().position(|token| is_word(token, "impl"))?;
    let head = &head[at + 1..];
    // Within `<…>`, `for` is a lifetime's.
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, token) in head.iter().enumerate() {
        if is_sign(token, '<') {
            depth += 1;
        } else if is_sign(token, '>') && !is_arrow(head, at) {
            depth = depth.saturating_sub(1);
            // The parameters of the impl itself, which come before the trait.
            if depth == 0 && start == 0 && is_sign(&head[0], '<') {
                start = at + 1;
            }
        } else if depth == 0 && is_word(token, "for") {
            return head.get(start..at).filter(|tr| !tr.is_empty());
        } else if depth == 0 && is_word(token, "where") {
            return None;
        }
    }
    None
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Whether the `>` at this place is that of `->`.
fn is_arrow(tokens: &[TokenTree], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| tokens.get(before)).is_some_and(|token| is_sign(token, '-'))
}

/// A method that the block writes.
struct Method {
    /// `#[cfg(…)]`, as it stands there.
    conditions: Vec<TokenStream>,
    name: String,
}

/// The methods of an impl block's body.
fn methods(cx: &Ctxt, body: TokenStream) -> Vec<Method> {
    let mut tokens = visible(body).into_iter().peekable();
    let mut methods = Vec::new();
    while tokens.peek().is_some() {
        let conditions = conditions(&mut tokens);
        let item = item(&mut tokens);
        if let Some(name) = method_name(&item) {
            methods.push(Method { conditions, name });
        } else if is_macro_call(&item) {
            cx.error_at(
                item.into_iter().collect::<TokenStream>(),
                "`plugin` cannot see what a macro writes: write the methods out, or let the macro write the whole impl",
            );
        }
    }
    methods
}

type Tokens = Peekable<std::vec::IntoIter<TokenTree>>;

/// Passes over attributes, and gives those that decide whether what they stand on is compiled.
fn conditions(tokens: &mut Tokens) -> Vec<TokenStream> {
    let mut conditions = Vec::new();
    while let Some(hash) = tokens.next_if(|token| is_sign(token, '#')) {
        // `#![…]` is the block's own.
        let is_inner = tokens.next_if(|token| is_sign(token, '!')).is_some();
        let Some(attr) = tokens.next() else { break };
        if !is_inner && is_condition(&attr) {
            conditions.push(quote!(#hash #attr));
        }
    }
    conditions
}

/// The next item, to the `;` or the braces that end it.
fn item(tokens: &mut Tokens) -> Vec<TokenTree> {
    let mut item = Vec::new();
    for token in tokens {
        let is_last = match &token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            token => is_sign(token, ';'),
        };
        item.push(token);
        if is_last {
            break;
        }
    }
    item
}

fn method_name(item: &[TokenTree]) -> Option<String> {
    let at = item.iter().position(|token| is_word(token, "fn"))?;
    match item.get(at + 1) {
        Some(TokenTree::Ident(name)) => Some(name.unraw().to_string()),
        // The type `fn(…)`.
        _ => None,
    }
}

fn is_macro_call(item: &[TokenTree]) -> bool {
    let is_declaration = |token: &TokenTree| is_word(token, "const") || is_word(token, "type");
    !item.iter().any(is_declaration) && item.iter().any(|token| is_sign(token, '!'))
}

/// The tokens without invisible parentheses, which macros put around what was passed to them.
fn visible(tokens: TokenStream) -> Vec<TokenTree> {
    let mut visible = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                visible.extend(self::visible(group.stream()));
            }
            token => visible.push(token),
        }
    }
    visible
}

/// Whether an attribute decides if what it stands on is compiled.
fn is_condition(attr: &TokenTree) -> bool {
    fn mentions_cfg(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => mentions_cfg(group.stream()),
            token => is_word(&token, "cfg"),
        })
    }
    let TokenTree::Group(attr) = attr else { return false };
    match attr.stream().into_iter().next() {
        Some(word) if is_word(&word, "cfg") => true,
        Some(word) if is_word(&word, "cfg_attr") => mentions_cfg(attr.stream()),
        _ => false,
    }
}
