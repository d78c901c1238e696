//! The rules of `#[derive(RuntimeConfig)]` and `#[derive(CniArgs)]`: what a field is called outside Rust.

use quote::ToTokens;
use syn::LitStr;
use syn::ext::IdentExt;

use crate::ast::{Record, RecordField};
use crate::ctxt::Ctxt;
use crate::spec;

/// The capabilities' names, in the order of the fields.
pub(crate) fn runtime_config(cx: &Ctxt, record: &Record<'_>) -> Vec<String> {
    let names: Vec<String> = record.fields.iter().map(|field| capability(cx, field)).collect();
    // In any letter case: that is how the value is found.
    duplicates(cx, record, &names, "capability", |a, b| a.eq_ignore_ascii_case(b));
    names
}

/// The arguments' keys, in the order of the fields.
pub(crate) fn args(cx: &Ctxt, record: &Record<'_>) -> Vec<String> {
    let names: Vec<String> = record.fields.iter().map(|field| argument(cx, field)).collect();
    duplicates(cx, record, &names, "argument", |a, b| a == b);
    names
}

/// `port_mappings` is `portMappings`, `device_id` is `deviceID` as the conventions have it, `my_own` is `myOwn`.
fn capability(cx: &Ctxt, field: &RecordField<'_>) -> String {
    if let Some(written) = field.attrs.rename.value() {
        return renamed_capability(cx, written);
    }
    let ident = field.ident.unraw().to_string();
    match documented(&ident) {
        Some(name) => name.to_owned(),
        None => camel_case(&ident),
    }
}

/// `rename = ""`, and `rename = "portmappings"`: no runtime knows it by that spelling.
fn renamed_capability(cx: &Ctxt, written: &LitStr) -> String {
    let name = written.value();
    if name.is_empty() {
        cx.error_at(written, "a capability has a name");
    }
    match documented(&name) {
        Some(known) if known.eq_ignore_ascii_case(&name) && known != name => {
            cx.error_at(written, format!("the capability is spelt `{known}`"));
        }
        _ => {}
    }
    name
}

fn documented(name: &str) -> Option<&'static str> {
    spec::CAPABILITIES.into_iter().find(|known| spec::fold(known) == spec::fold(name))
}

fn camel_case(ident: &str) -> String {
    let mut words = ident.split('_').filter(|word| !word.is_empty());
    let mut name = words.next().unwrap_or(ident).to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters));
    }
    name
}

/// `k8s_pod_name` is `K8S_POD_NAME`.
fn argument(cx: &Ctxt, field: &RecordField<'_>) -> String {
    let (name, written) = match field.attrs.rename.value() {
        Some(written) => (written.value(), written.to_token_stream()),
        None => (field.ident.unraw().to_string().to_uppercase(), field.ident.to_token_stream()),
    };
    if spec::fold(&name) == spec::fold(spec::IGNORE_UNKNOWN) {
        cx.error_at(
            &written,
            "`IgnoreUnknown` is no argument of a plugin: it is always read, and says whether unknown arguments are an \
             error; remove the field, and put `#[cni(ignore_unknown)]` on the struct if they never are",
        );
    }
    // What `types::CniArgs` cannot hold.
    if name.is_empty() || name.contains(['=', ';', '\0']) {
        cx.error_at(
            &written,
            format!("the argument {name:?} cannot be given: a key is not empty and has no `=` or `;`"),
        );
    }
    name
}

/// Two fields of one name: the second would never get its own value.
fn duplicates(
    cx: &Ctxt,
    record: &Record<'_>,
    names: &[String],
    what: &str,
    same: impl Fn(&str, &str) -> bool,
) {
    for (at, (name, field)) in names.iter().zip(&record.fields).enumerate() {
        let Some(first) = names[..at].iter().position(|before| same(before, name)) else { continue };
        let though = if names[first] == *name { "" } else { ", as letter case does not count" };
        let written = field
            .attrs
            .rename
            .value()
            .map_or_else(|| field.ident.to_token_stream(), ToTokens::to_token_stream);
        let first = record.fields[first].ident;
        cx.error_at(written, format!("the {what} `{name}` is that of the field `{first}` already{though}"));
    }
}
