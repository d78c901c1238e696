//! The names that the protocol carries, each rule in one place.
//!
//! A value of one of these types is safe as a path component (it holds no `/` and is neither `.` nor `..`), but its
//! length is not bounded except for interface names: whoever makes a file name of it checks that.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{ErrorCode, ErrorObject};
use crate::wire::parsed;

/// The kernel's `IFNAMSIZ` less the final NUL, in bytes.
pub const MAX_INTERFACE_NAME_BYTES: usize = 15;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes the name over if it keeps the rule.
            ///
            /// # Errors
            ///
            /// When it does not; [`InvalidName::code`] has the CNI code.
            pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
                let name = name.into();
                match $check(&name) {
                    None => Ok(Self(name)),
                    Some(reason) => Err(InvalidName { what: $what, value: name, reason }),
                }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as an owned string.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(name: &str) -> Result<Self, InvalidName> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(name: String) -> Result<Self, InvalidName> {
                Self::new(name)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = InvalidName;

            fn try_from(name: &str) -> Result<Self, InvalidName> {
                Self::new(name)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                parsed(deserializer, |name| Self::new(name))
            }
        }
    };
}

name! {
    /// A container's ID: a letter or digit, then letters, digits, `_`, `.` and `-`.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#parameters).
    ///
    /// ```
    /// use cni_types::ContainerId;
    /// assert!(ContainerId::new("a").is_ok());
    /// assert_eq!(ContainerId::new("../x").unwrap_err().code().value(), 4);
    /// ```
    ContainerId, NameKind::ContainerId, identifier
}

name! {
    /// A network's name: a letter or digit, then letters, digits, `_`, `.` and `-`.
    ///
    /// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#configuration-format).
    ///
    /// ```
    /// use cni_types::NetworkName;
    /// assert!(NetworkName::new("pod-network").is_ok());
    /// assert_eq!(NetworkName::new("my net").unwrap_err().code().value(), 7);
    /// ```
    NetworkName, NameKind::NetworkName, identifier
}

name! {
    /// An interface's name, by the kernel's rules: 1 to 15 bytes, not `.` or `..`, no `/`, `:` or white space.
    ///
    /// ```
    /// use cni_types::InterfaceName;
    /// assert!(InterfaceName::new("eth0").is_ok());
    /// assert!(InterfaceName::new("sixteen-bytes-xx").is_err());
    /// ```
    InterfaceName, NameKind::InterfaceName, interface_name
}

name! {
    /// A plugin's type: the file name of its binary, never a path.
    ///
    /// ```
    /// use cni_types::PluginType;
    /// assert!(PluginType::new("host-local").is_ok());
    /// assert!(PluginType::new("../../sbin/reboot").is_err());
    /// ```
    PluginType, NameKind::PluginType, plugin_type
}

/// The rule for container IDs and network names.
fn identifier(name: &str) -> Option<Reason> {
    let mut bytes = name.bytes();
    match bytes.next() {
        None => Some(Reason::Empty),
        Some(first)
            if first.is_ascii_alphanumeric()
                && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')) =>
        {
            None
        }
        Some(_) => Some(Reason::Characters),
    }
}

/// The kernel's `dev_valid_name`, and Unicode white space besides, as Go refuses it.
fn interface_name(name: &str) -> Option<Reason> {
    if name.is_empty() {
        Some(Reason::Empty)
    } else if name.len() > MAX_INTERFACE_NAME_BYTES {
        Some(Reason::TooLong)
    } else if name == "." || name == ".." {
        Some(Reason::Dots)
    } else if name.chars().any(|c| matches!(c, '/' | ':') || c.is_whitespace()) {
        Some(Reason::Characters)
    } else {
        None
    }
}

fn plugin_type(name: &str) -> Option<Reason> {
    if name.is_empty() {
        Some(Reason::Empty)
    } else if name == "." || name == ".." {
        Some(Reason::Dots)
    } else if name.contains(['/', '\\', '\0']) {
        Some(Reason::Characters)
    } else {
        None
    }
}

/// Which name broke its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameKind {
    /// `CNI_CONTAINERID`.
    ContainerId,
    /// `CNI_IFNAME`, or an interface of a configuration.
    InterfaceName,
    /// A configuration's `name`.
    NetworkName,
    /// A configuration's `type`.
    PluginType,
}

/// The part of the rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A character that is not allowed.
    Characters,
    /// `.` or `..`.
    Dots,
    /// Nothing at all.
    Empty,
    /// More bytes than the kernel takes.
    TooLong,
}

/// A name breaks its rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {}", self.message(), quoted(value), self.expectation())]
#[non_exhaustive]
pub struct InvalidName {
    /// Which name it was.
    pub what: NameKind,
    /// The value found.
    pub value: String,
    /// The part of the rule that was broken.
    pub reason: Reason,
}

impl InvalidName {
    /// The CNI code: 4 for what comes by the environment, 7 for what stands in a configuration.
    pub fn code(&self) -> ErrorCode {
        match self.what {
            NameKind::ContainerId | NameKind::InterfaceName => ErrorCode::INVALID_ENVIRONMENT,
            NameKind::NetworkName | NameKind::PluginType => ErrorCode::INVALID_NETWORK_CONFIG,
        }
    }

    /// What is wrong, in the words that Go's library uses, so that tools which match on them go on working.
    pub fn message(&self) -> &'static str {
        match (self.what, self.reason) {
            (NameKind::ContainerId, Reason::Empty) => "missing containerID",
            (NameKind::ContainerId, _) => "invalid characters in containerID",
            (NameKind::InterfaceName, Reason::Empty) => "interface name is empty",
            (NameKind::InterfaceName, Reason::TooLong) => "interface name is too long",
            (NameKind::InterfaceName, Reason::Dots) => "interface name is . or ..",
            (NameKind::InterfaceName, Reason::Characters) => {
                "interface name contains / or : or whitespace characters"
            }
            (NameKind::NetworkName, Reason::Empty) => "missing network name",
            (NameKind::NetworkName, _) => "invalid characters found in network name",
            (NameKind::PluginType, Reason::Empty) => "missing plugin type",
            (NameKind::PluginType, _) => "invalid plugin type",
        }
    }

    /// What would be right.
    pub fn expectation(&self) -> &'static str {
        match self.what {
            NameKind::ContainerId | NameKind::NetworkName => {
                "must start with a letter or digit, followed by letters, digits, '_', '.' or '-'"
            }
            NameKind::InterfaceName => {
                "must be 1 to 15 bytes without '/', ':' and white space, and not '.' or '..'"
            }
            NameKind::PluginType => "must be the file name of a plugin, not a path",
        }
    }
}

impl From<InvalidName> for ErrorObject {
    fn from(error: InvalidName) -> Self {
        // Go's details are the value alone; the rule follows it, so that who matches on the start still finds it.
        let value = if error.value.is_empty() { String::new() } else { format!("{}: ", error.value) };
        Self::new(error.code(), error.message()).with_details(format!("{value}{}", error.expectation()))
    }
}

/// The value in quotes after a space; nothing, where there is nothing to quote.
fn quoted(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c15_names_that_reach_file_names() {
        for id in ["../x", "a/b", ".", "-abc", "some-%%id", "", "a\n", "ä"] {
            assert_eq!(ContainerId::new(id).unwrap_err().code(), ErrorCode::INVALID_ENVIRONMENT, "{id:?}");
        }
        for name in ["my net", "..", "", "a/b", "a\n"] {
            assert_eq!(
                NetworkName::new(name).unwrap_err().code(),
                ErrorCode::INVALID_NETWORK_CONFIG,
                "{name:?}"
            );
        }
        assert!(ContainerId::new("a").is_ok());
        assert!(NetworkName::new("a").is_ok());
    }

    #[test]
    fn c16_interface_names_follow_the_kernel_in_bytes() {
        for name in ["1234567890123456", ".", "..", "a/b", "a:b", "a b", "a\u{a0}b", "", "ääääääää"] {
            assert!(InterfaceName::new(name).is_err(), "{name:?}");
        }
        for name in ["123456789012345", "äääääää", "a%d", "-", "lo", "..."] {
            assert!(InterfaceName::new(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn c29_a_plugin_type_is_never_a_path() {
        for name in ["../../sbin/reboot", "../x", "..", ".", "/bin/sh", "", "a\\b", "a\0"] {
            assert!(PluginType::new(name).is_err(), "{name:?}");
        }
        assert!(PluginType::new("tc-redirect-tap").is_ok());
    }

    #[test]
    fn the_error_object_quotes_value_and_rule() {
        let object = ErrorObject::from(ContainerId::new("a/b").unwrap_err());
        insta::assert_snapshot!(object, @r#"invalid characters in containerID: a/b: must start with a letter or digit, followed by letters, digits, '_', '.' or '-' (code 4)"#);
        let error = NetworkName::new("").unwrap_err();
        insta::assert_snapshot!(error, @"missing network name: must start with a letter or digit, followed by letters, digits, '_', '.' or '-'");
        insta::assert_snapshot!(ErrorObject::from(error), @"missing network name: must start with a letter or digit, followed by letters, digits, '_', '.' or '-' (code 7)");
    }
}
