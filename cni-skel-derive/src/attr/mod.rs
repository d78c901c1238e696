//! Reads `#[cni(…)]` into keys and values, each beside the tokens it was written as.
//!
//! Knows which keys a derive has and which shape a value has; whether the values make sense is up to `validate`.
//! A faulty entry is reported, and the entries after it are still read.

mod value;

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Error, Ident, LitStr, Meta, Path, Result, Token, Type};

pub(crate) use value::{Code, Versions};

use crate::ctxt::Ctxt;
use crate::symbol::{
    ABOUT, ARGS, CNI, CODE, CONFIG, CRATE, DENY_UNKNOWN_KEYS, DETAILS, ERRORS, IGNORE_UNKNOWN, NAME, RENAME,
    RUNTIME, TRANSPARENT, VERSION, VERSIONS,
};

/// What `#[derive(CniPlugin)]` reads on the type.
#[derive(Default)]
pub(crate) struct PluginAttrs {
    pub(crate) about: Once<LitStr>,
    pub(crate) args: Once<Type>,
    pub(crate) config: Once<Type>,
    pub(crate) deny_unknown_keys: Once<Ident>,
    pub(crate) errors: Once<Vec<Type>>,
    pub(crate) krate: Once<Path>,
    pub(crate) name: Once<LitStr>,
    pub(crate) runtime: Once<Type>,
    pub(crate) version: Once<LitStr>,
    pub(crate) versions: Once<Versions>,
}

impl PluginAttrs {
    const KEYS: &[&str] =
        &[ABOUT, ARGS, CONFIG, CRATE, DENY_UNKNOWN_KEYS, ERRORS, NAME, RUNTIME, VERSION, VERSIONS];

    pub(crate) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut read = Self::default();
        entries(cx, attrs, Self::KEYS, |key, input| match key.word.as_str() {
            ABOUT => read.about.set(cx, key, value::text(key, input)),
            ARGS => read.args.set(cx, key, value::ty(key, input)),
            CONFIG => read.config.set(cx, key, value::ty(key, input)),
            CRATE => read.krate.set(cx, key, value::path(key, input)),
            DENY_UNKNOWN_KEYS => read.deny_unknown_keys.set(cx, key, value::flag(key, input)),
            ERRORS => read.errors.set(cx, key, value::types(key, input)),
            NAME => read.name.set(cx, key, value::text(key, input)),
            RUNTIME => read.runtime.set(cx, key, value::ty(key, input)),
            VERSION => read.version.set(cx, key, value::text(key, input)),
            VERSIONS => read.versions.set(cx, key, value::versions(key, input)),
            _ => Err(key.unknown()),
        });
        read
    }
}

/// What `#[derive(RuntimeConfig)]` and `#[derive(CniArgs)]` read on the struct.
#[derive(Default)]
pub(crate) struct RecordAttrs {
    pub(crate) ignore_unknown: Once<Ident>,
    pub(crate) krate: Once<Path>,
}

impl RecordAttrs {
    pub(crate) fn read_for_args(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut read = Self::default();
        entries(cx, attrs, &[CRATE, IGNORE_UNKNOWN], |key, input| match key.word.as_str() {
            CRATE => read.krate.set(cx, key, value::path(key, input)),
            IGNORE_UNKNOWN => read.ignore_unknown.set(cx, key, value::flag(key, input)),
            _ => Err(key.unknown()),
        });
        read
    }

    pub(crate) fn read_for_runtime(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut read = Self::default();
        entries(cx, attrs, &[CRATE], |key, input| match key.word.as_str() {
            CRATE => read.krate.set(cx, key, value::path(key, input)),
            _ => Err(key.unknown()),
        });
        read
    }
}

/// What `#[derive(RuntimeConfig)]` and `#[derive(CniArgs)]` read on a field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) rename: Once<LitStr>,
}

impl FieldAttrs {
    pub(crate) fn read(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        let mut read = Self::default();
        entries(cx, attrs, &[RENAME], |key, input| match key.word.as_str() {
            RENAME => read.rename.set(cx, key, value::text(key, input)),
            _ => Err(key.unknown()),
        });
        read
    }
}

/// What `#[derive(CniError)]` reads on the type and on each variant.
#[derive(Default)]
pub(crate) struct ErrorAttrs {
    pub(crate) code: Once<Code>,
    pub(crate) details: Once<LitStr>,
    pub(crate) krate: Once<Path>,
    pub(crate) transparent: Once<Ident>,
}

impl ErrorAttrs {
    /// On an enum: `code` is the default of its variants.
    pub(crate) fn read_on_enum(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        Self::read(cx, attrs, &[CODE, CRATE])
    }

    pub(crate) fn read_on_struct(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        Self::read(cx, attrs, &[CODE, CRATE, DETAILS, TRANSPARENT])
    }

    pub(crate) fn read_on_variant(cx: &Ctxt, attrs: &[Attribute]) -> Self {
        Self::read(cx, attrs, &[CODE, DETAILS, TRANSPARENT])
    }

    fn read(cx: &Ctxt, attrs: &[Attribute], keys: &[&str]) -> Self {
        let mut read = Self::default();
        entries(cx, attrs, keys, |key, input| match key.word.as_str() {
            word if !keys.contains(&word) => Err(key.unknown()),
            CODE => read.code.set(cx, key, value::code(key, input)),
            CRATE => read.krate.set(cx, key, value::path(key, input)),
            DETAILS => read.details.set(cx, key, value::text(key, input)),
            TRANSPARENT => read.transparent.set(cx, key, value::flag(key, input)),
            _ => Err(key.unknown()),
        });
        read
    }
}

/// Refuses `#[cni(…)]` where a derive reads none, so that none is overlooked.
pub(crate) fn refuse(cx: &Ctxt, attrs: &[Attribute], message: &str) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(CNI)) {
        cx.error_at(attr, message);
    }
}

/// The text of a doc comment's first paragraph on one line; `None` if there is none.
pub(crate) fn doc_line(attrs: &[Attribute]) -> Option<String> {
    let comments =
        attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(|attr| match &attr.meta {
            Meta::NameValue(meta) => syn::parse2::<LitStr>(meta.value.to_token_stream()).ok(),
            Meta::Path(_) | Meta::List(_) => None,
        });
    let text: Vec<String> = comments.map(|comment| comment.value()).collect();
    // A `/** … */` comment is one text of several lines, and may have a star before each.
    let text = text.join("\n");
    let lines = text.lines().map(str::trim).map(|line| line.strip_prefix("* ").unwrap_or(line));
    let paragraph = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    Some(paragraph.collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty())
}

/// The key of an entry.
pub(crate) struct Key<'a> {
    ident: Ident,
    word: String,
    /// Those that may stand here.
    keys: &'a [&'a str],
}

impl<'a> Key<'a> {
    fn parse(input: ParseStream<'_>, keys: &'a [&'a str]) -> Result<Self> {
        // `crate` is a keyword, and so no identifier to syn's ordinary parser.
        match Ident::parse_any(input) {
            Ok(ident) => Ok(Self { word: ident.to_string(), ident, keys }),
            Err(error) => Err(Error::new(error.span(), format!("no key, {}", expected_of(keys)))),
        }
    }

    fn unknown(&self) -> Error {
        let expected = expected_of(self.keys);
        Error::new_spanned(&self.ident, format!("unknown key `{}`, {expected}", self.word))
    }
}

fn expected_of(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let one_of = if keys.len() == 1 { "" } else { "one of " };
    format!("expected {one_of}{}", quoted.join(", "))
}

/// A key's value, which may be given once.
pub(crate) struct Once<T> {
    value: Option<T>,
    /// Whether the key stands there, if only with a faulty value: then it is not missing.
    is_given: bool,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { value: None, is_given: false }
    }
}

impl<T> Once<T> {
    fn set(&mut self, cx: &Ctxt, key: &Key<'_>, value: Result<T>) -> Result<()> {
        if std::mem::replace(&mut self.is_given, true) {
            cx.error_at(&key.ident, format!("duplicate key `{}`", key.word));
        }
        let value = value?;
        self.value.get_or_insert(value);
        Ok(())
    }

    pub(crate) fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }

    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }
}

/// Calls `read` with each entry of each `#[cni(…)]`, in order.
fn entries(
    cx: &Ctxt,
    attrs: &[Attribute],
    keys: &[&str],
    mut read: impl FnMut(&Key<'_>, ParseStream<'_>) -> Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(CNI)) {
        let Meta::List(list) = &attr.meta else {
            cx.error_at(&attr.meta, "expected a list of keys: `#[cni(…)]`");
            continue;
        };
        let all = list.parse_args_with(|input: ParseStream<'_>| {
            while !input.is_empty() {
                let entry =
                    Key::parse(input, keys).and_then(|key| read(&key, input)).and_then(|()| end(input));
                if let Err(error) = entry {
                    cx.error(error);
                    skip_entry(input)?;
                }
                input.parse::<Option<Token![,]>>()?;
            }
            Ok(())
        });
        if let Err(error) = all {
            cx.error(error);
        }
    }
}

/// What may follow an entry: the next one, or nothing.
fn end(input: ParseStream<'_>) -> Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(Error::new_spanned(input.fork().parse::<TokenTree>()?, "expected `,` before this"))
}

/// Passes over the rest of a faulty entry.
fn skip_entry(input: ParseStream<'_>) -> Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
