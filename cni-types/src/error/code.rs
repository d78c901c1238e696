//! The numbers 1 to 999 and what they mean.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The code of an error object.
///
/// 1 to 99 are reserved for the spec, 100 and above are a plugin's own.
///
/// ```
/// use cni_types::ErrorCode;
/// assert_eq!(ErrorCode::TRY_AGAIN.value(), 11);
/// assert!(ErrorCode::new(142).is_plugin_specific());
/// ```
///
/// See [the spec's error codes](https://github.com/containernetworking/cni/blob/main/SPEC.md#error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(u64);

impl ErrorCode {
    /// 1: the config's version is not supported. Details name it and the supported ones.
    pub const INCOMPATIBLE_CNI_VERSION: Self = Self(1);
    /// 2: an unknown key in the configuration. The message names key and value.
    pub const UNSUPPORTED_FIELD: Self = Self(2);
    /// 3: the container is unknown or gone. The runtime needs no cleanup.
    pub const UNKNOWN_CONTAINER: Self = Self(3);
    /// 4: an environment variable is missing or wrong.
    pub const INVALID_ENVIRONMENT: Self = Self(4);
    /// 5: stdin could not be read.
    pub const IO_FAILURE: Self = Self(5);
    /// 6: the content could not be decoded.
    pub const DECODING_FAILURE: Self = Self(6);
    /// 7: the network configuration is wrong.
    pub const INVALID_NETWORK_CONFIG: Self = Self(7);
    /// 8: the network namespace cannot be used. Not in the spec's table; deployed plugins have it.
    pub const INVALID_NETNS: Self = Self(8);
    /// 11: a transient condition; the runtime should try again later.
    pub const TRY_AGAIN: Self = Self(11);
    /// 50: STATUS: ADD cannot be served.
    pub const PLUGIN_NOT_AVAILABLE: Self = Self(50);
    /// 51: STATUS: ADD cannot be served, and existing containers may have limited connectivity.
    pub const LIMITED_CONNECTIVITY: Self = Self(51);
    /// 999: any other failure. What deployed plugins print for an error without a code.
    pub const INTERNAL: Self = Self(999);

    /// The code of this number.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Whether the number is reserved for the spec (1 to 99).
    pub const fn is_reserved(self) -> bool {
        1 <= self.0 && self.0 <= 99
    }

    /// Whether the number is free for a plugin's own errors (100 and above).
    pub const fn is_plugin_specific(self) -> bool {
        self.0 >= 100
    }

    /// What the spec says the code means, if it says anything.
    pub const fn description(self) -> Option<&'static str> {
        Some(match self {
            Self::INCOMPATIBLE_CNI_VERSION => "incompatible CNI version",
            Self::UNSUPPORTED_FIELD => "unsupported field in network configuration",
            Self::UNKNOWN_CONTAINER => "container unknown or does not exist",
            Self::INVALID_ENVIRONMENT => "invalid environment variable",
            Self::IO_FAILURE => "I/O failure",
            Self::DECODING_FAILURE => "failed to decode content",
            Self::INVALID_NETWORK_CONFIG => "invalid network configuration",
            Self::INVALID_NETNS => "invalid network namespace",
            Self::TRY_AGAIN => "try again later",
            Self::PLUGIN_NOT_AVAILABLE => "plugin not available",
            Self::LIMITED_CONNECTIVITY => "plugin not available, connectivity limited",
            Self::INTERNAL => "internal error",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<ErrorCode> for u64 {
    fn from(code: ErrorCode) -> Self {
        code.0
    }
}
