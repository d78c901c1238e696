//! The words of `#[cni(…)]`, each spelt once.

/// The helper attribute of every derive.
pub(crate) const CNI: &str = "cni";

pub(crate) const ABOUT: &str = "about";
pub(crate) const ARGS: &str = "args";
pub(crate) const CODE: &str = "code";
pub(crate) const CONFIG: &str = "config";
pub(crate) const CRATE: &str = "crate";
pub(crate) const DENY_UNKNOWN_KEYS: &str = "deny_unknown_keys";
pub(crate) const DETAILS: &str = "details";
pub(crate) const ERRORS: &str = "errors";
pub(crate) const IGNORE_UNKNOWN: &str = "ignore_unknown";
pub(crate) const NAME: &str = "name";
pub(crate) const RENAME: &str = "rename";
pub(crate) const RUNTIME: &str = "runtime";
pub(crate) const TRANSPARENT: &str = "transparent";
pub(crate) const VERSION: &str = "version";
pub(crate) const VERSIONS: &str = "versions";
