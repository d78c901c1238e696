//! A process environment as a value: no key twice, in a fixed order.
//!
//! Which variables a plugin gets is decided in [`Parameters`](crate::Parameters); this is only the container, and the single place
//! that reads the process's own environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// Environment variables, each once.
///
/// ```
/// use cni_invoke::Environment;
///
/// let mut environment: Environment = [("PATH", "/bin"), ("CNI_IFNAME", "old"), ("PATH", "/usr/bin")].into_iter().collect();
/// environment.set("CNI_IFNAME", "eth0");
/// assert_eq!(environment.find("PATH").unwrap(), "/usr/bin");
/// assert_eq!(environment.iter().count(), 2);
/// ```
///
/// In its debug form, only the variables of the protocol (`CNI_*`) have values: what else a process inherits may be secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    // A few dozen variables at most: a scan is quicker than hashing, and order is kept.
    // The texts are shared, since a copy is made for each plugin that is run, and for whoever is told of it.
    variables: Vec<(Arc<OsStr>, Arc<OsStr>)>,
}

impl Environment {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// The variables of this process, as they are now. Nothing else in this crate reads them.
    pub fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }

    /// Sets a variable, whatever it was before.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let (name, value) = (name.into(), Arc::from(value.into()));
        match self.variables.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => self.variables.push((name.into(), value)),
        }
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        let name = name.as_ref();
        self.variables.retain(|(known, _)| **known != *name);
    }

    /// The value of a variable.
    pub fn find(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let name = name.as_ref();
        self.variables.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    /// The variables, in the order in which they were first set.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_map();
        for (name, value) in &self.variables {
            if name.as_bytes().starts_with(b"CNI_") {
                shown.entry(name, value);
            } else {
                shown.entry(name, &format_args!("…"));
            }
        }
        shown.finish()
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    /// Of a name that stands twice, the last value counts.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let mut environment = Self::new();
        environment.extend(variables);
        environment
    }
}

impl<N: Into<OsString>, V: Into<OsString>> Extend<(N, V)> for Environment {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, variables: I) {
        for (name, value) in variables {
            self.set(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_in_the_debug_form() {
        let environment: Environment =
            [("CNI_IFNAME", "eth0"), ("API_TOKEN", "hunter2")].into_iter().collect();
        assert_eq!(format!("{environment:?}"), r#"{"CNI_IFNAME": "eth0", "API_TOKEN": …}"#);
    }
}
