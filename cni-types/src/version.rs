//! Spec versions: which exist, their order, and what absent means.
//!
//! A version here is a version of the *specification*, not a release of some library: `1.3.0` is a release of Go's
//! `libcni`, and no spec version. Nothing else in the workspace compares versions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::parsed;

/// A released version of the CNI specification.
///
/// Ordered by release. An absent or empty `cniVersion` means [`CniVersion::V0_1_0`], so that is what `""` parses to.
///
/// ```
/// use cni_types::CniVersion;
///
/// let version: CniVersion = "0.4.0".parse()?;
/// assert!(version < CniVersion::V1_0_0);
/// assert_eq!(version.to_string(), "0.4.0");
/// assert_eq!("".parse::<CniVersion>()?, CniVersion::V0_1_0);
/// # Ok::<(), cni_types::VersionError>(())
/// ```
///
/// See [the spec on versions](https://github.com/containernetworking/cni/blob/main/SPEC.md#version-considerations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_enums, reason = "a new spec version is a new release of this crate")]
pub enum CniVersion {
    /// The first version; what an absent `cniVersion` means.
    V0_1_0,
    /// Adds the VERSION command.
    V0_2_0,
    /// Results with a list of interfaces and addresses.
    V0_3_0,
    /// As 0.3.0; only a slip in the spec's text was mended.
    V0_3_1,
    /// Adds CHECK and `prevResult` on DEL.
    V0_4_0,
    /// Drops `version` from addresses and single-plugin configurations.
    V1_0_0,
    /// Adds GC, STATUS, `cniVersions`, and more keys of routes and interfaces.
    V1_1_0,
}

impl CniVersion {
    /// Every released version, oldest first.
    pub const ALL: [Self; 7] =
        [Self::V0_1_0, Self::V0_2_0, Self::V0_3_0, Self::V0_3_1, Self::V0_4_0, Self::V1_0_0, Self::V1_1_0];

    /// The newest version this crate knows.
    pub const NEWEST: Self = Self::V1_1_0;

    /// What an absent or empty `cniVersion` means.
    pub const WHEN_ABSENT: Self = Self::V0_1_0;

    /// The version as the wire has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }

    /// The released versions from this one on, oldest first.
    ///
    /// ```
    /// use cni_types::CniVersion;
    /// assert_eq!(CniVersion::V1_0_0.and_later(), [CniVersion::V1_0_0, CniVersion::V1_1_0]);
    /// ```
    #[doc(alias = "VersionsStartingFrom")]
    pub fn and_later(self) -> &'static [Self] {
        const ALL: &[CniVersion] = &CniVersion::ALL;
        &ALL[self as usize..]
    }
}

impl fmt::Display for CniVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for CniVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Ok(Self::WHEN_ABSENT);
        }
        if let Some(version) = Self::ALL.into_iter().find(|version| version.as_str() == text) {
            return Ok(version);
        }
        let number: VersionNumber = text.parse()?;
        Err(VersionError::Unreleased(number))
    }
}

impl Serialize for CniVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CniVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer, str::parse)
    }
}

/// Any three-part version number, released or not: what a configuration or a plugin may *claim*.
///
/// Three plain decimal numbers without sign or leading zero. Go's library also takes `1`, `+1.0.0` and `01.0.0`, whose
/// text then never equals the version it means; here they are refused.
///
/// ```
/// use cni_types::VersionNumber;
/// let claimed: VersionNumber = "9.9.9".parse()?;
/// assert!(claimed > "1.1.0".parse()?);
/// # Ok::<(), cni_types::VersionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct VersionNumber {
    /// First part.
    pub major: u64,
    /// Second part.
    pub minor: u64,
    /// Third part.
    pub micro: u64,
}

impl fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

impl From<CniVersion> for VersionNumber {
    fn from(version: CniVersion) -> Self {
        let (major, minor, micro) = match version {
            CniVersion::V0_1_0 => (0, 1, 0),
            CniVersion::V0_2_0 => (0, 2, 0),
            CniVersion::V0_3_0 => (0, 3, 0),
            CniVersion::V0_3_1 => (0, 3, 1),
            CniVersion::V0_4_0 => (0, 4, 0),
            CniVersion::V1_0_0 => (1, 0, 0),
            CniVersion::V1_1_0 => (1, 1, 0),
        };
        Self { major, minor, micro }
    }
}

impl FromStr for VersionNumber {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Ok(CniVersion::WHEN_ABSENT.into());
        }
        let not_a_version = || VersionError::NotAVersion(text.to_owned());
        let mut parts = text.split('.').map(|part| {
            let plain = part.bytes().all(|b| b.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
            // No larger than what Go's signed parts hold, so that both know the same numbers.
            if plain { part.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok()) } else { None }
        });
        let mut next = || parts.next().flatten().ok_or_else(not_a_version);
        let number = Self { major: next()?, minor: next()?, micro: next()? };
        if parts.next().is_some() { Err(not_a_version()) } else { Ok(number) }
    }
}

/// Why a text is no released spec version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The text is not three plain numbers. Code 6 where it stands in a configuration.
    #[error("{0:?} is not a version, expected three numbers such as \"1.0.0\"")]
    NotAVersion(String),
    /// A well-formed version, but none that was released. Code 1 where it stands in a configuration.
    #[error("{0} is not a released CNI spec version, expected one of {list}", list = released())]
    Unreleased(VersionNumber),
}

fn released() -> String {
    CniVersion::ALL.map(CniVersion::as_str).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_prints_what_it_parses() {
        for version in CniVersion::ALL {
            assert_eq!(version.as_str().parse(), Ok(version));
            assert_eq!(VersionNumber::from(version).to_string(), version.as_str());
        }
    }

    #[test]
    fn order_is_the_order_of_release_and_of_the_numbers() {
        assert!(CniVersion::ALL.is_sorted());
        assert!(CniVersion::ALL.map(VersionNumber::from).is_sorted());
    }

    #[test]
    fn only_three_plain_numbers_are_a_version() {
        for text in [
            "1",
            "1.0",
            "1.0.0.0",
            "+1.0.0",
            "01.0.0",
            "-1.0.0",
            "1.0.0-rc1",
            " 1.0.0",
            "v1.0.0",
            "1..0",
            "١.0.0",
        ] {
            assert_eq!(
                text.parse::<VersionNumber>(),
                Err(VersionError::NotAVersion(text.to_owned())),
                "{text}"
            );
        }
        assert!(matches!("0.5.0".parse::<CniVersion>(), Err(VersionError::Unreleased(_))));
    }

    #[test]
    fn the_error_says_what_would_be_right() {
        insta::assert_snapshot!("1.3.0".parse::<CniVersion>().unwrap_err(), @"1.3.0 is not a released CNI spec version, expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0");
        insta::assert_snapshot!("abc".parse::<CniVersion>().unwrap_err(), @r#""abc" is not a version, expected three numbers such as "1.0.0""#);
    }
}
