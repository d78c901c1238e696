//! One adapter per vector file: how its cases are put to our crates.
//!
//! An adapter knows the format of its file and our API, and nothing of single cases.

mod cni_args;
mod conflist;
mod libcni_exec;
mod plugin_err;
mod prev_result;
mod results;
mod skel_dispatch;
mod validate;
mod versions;

pub use cni_args::Args;
pub use conflist::Conflist;
pub use libcni_exec::LibcniExec;
pub use plugin_err::PluginErr;
pub use prev_result::PrevResult;
pub use results::{ResultsConvert, ResultsParse};
pub use skel_dispatch::SkelDispatch;
pub use validate::Validate;
pub use versions::Versions;

use std::path::Path;

use super::{json::Json, run::Adapter};

/// The adapter for a vector file, if there is one. `plugin` is the binary `vec-plugin`.
pub fn by_file(file: &str, plugin: &Path) -> Option<Box<dyn Adapter>> {
    Some(match file {
        "cni_args" => Box::new(Args),
        "conflist" => Box::new(Conflist),
        "libcni_exec" => Box::new(LibcniExec),
        "plugin_err" => Box::new(PluginErr),
        "prev_result" => Box::new(PrevResult),
        "results_convert" => Box::new(ResultsConvert),
        "results_parse" => Box::new(ResultsParse),
        "skel_dispatch" => Box::new(SkelDispatch { plugin: plugin.to_owned() }),
        "validate" => Box::new(Validate),
        "versions" => Box::new(Versions),
        _ => return None,
    })
}

/// The fields of `expect` of the given names, for the common form.
fn pick(expect: &Json, names: &[&str]) -> Vec<(String, Json)> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), expect.field(name)?.clone()))).collect()
}

/// The common form of an expectation in which `ok` or `error` stands as it is; the fields named go along with either.
fn simple(expect: &Json, with_ok: &[&str], with_error: &[&str]) -> Json {
    if let Some(panic) = expect.field("panic") {
        return Json::object([("panic", panic.clone())]);
    }
    if let Some(error) = expect.field("error") {
        let mut fields = vec![("text".to_owned(), error.clone())];
        fields.extend(pick(expect, with_error));
        return Json::object([("error", Json::Object(fields))]);
    }
    let mut fields: Vec<_> =
        expect.field("ok").map(|ok| ("value".to_owned(), ok.clone())).into_iter().collect();
    fields.extend(pick(expect, with_ok));
    Json::object([("ok", Json::Object(fields))])
}

/// An error in the common form.
fn error<K: Into<String>>(text: impl std::fmt::Display, fields: impl IntoIterator<Item = (K, Json)>) -> Json {
    let mut all = vec![("text".to_owned(), Json::string(text.to_string()))];
    all.extend(fields.into_iter().map(|(key, value)| (key.into(), value)));
    Json::object([("error", Json::Object(all))])
}

/// A success in the common form.
fn ok<K: Into<String>>(fields: impl IntoIterator<Item = (K, Json)>) -> Json {
    Json::object([("ok", Json::object(fields))])
}
