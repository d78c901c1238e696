//! `CNI_ARGS`: an ordered list of `key=value` pairs that prints as it was read.
//!
//! A pair is split at its first `=`, so a value may hold `=`; empty segments (`a=1;;b=2;`) are skipped. Go's library
//! refuses both. What each key means is up to the plugin: see the `CniArgs` derive of `cni-skel`.

use std::fmt;
use std::str::FromStr;

use crate::error::{ErrorCode, ErrorObject};

/// The key that says whether keys a plugin does not know are an error.
pub const IGNORE_UNKNOWN: &str = "IgnoreUnknown";

/// The pairs of `CNI_ARGS`, in order, duplicates included.
///
/// ```
/// use cni_types::CniArgs;
///
/// let args: CniArgs = "IgnoreUnknown=1;K8S_POD_NAME=web;LABELS=a=b".parse()?;
/// assert_eq!(args.find("LABELS"), Some("a=b"));
/// assert!(args.ignore_unknown()?);
/// assert_eq!(args.to_string(), "IgnoreUnknown=1;K8S_POD_NAME=web;LABELS=a=b");
/// # Ok::<(), cni_types::args::InvalidArgs>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#parameters).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CniArgs {
    /// The text as it came; every segment of it is empty or a pair.
    text: String,
}

impl CniArgs {
    /// No pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a pair.
    ///
    /// # Errors
    ///
    /// When the pair could not be read back: an empty key, `=` or `;` in the key, `;` in the value, NUL in either.
    pub fn push(&mut self, key: &str, value: &str) -> Result<(), InvalidArgs> {
        let segment = format!("{key}={value}");
        if key.is_empty() || key.contains(['=', ';', '\0']) || value.contains([';', '\0']) {
            return Err(InvalidArgs::Pair { segment });
        }
        if !self.text.is_empty() && !self.text.ends_with(';') {
            self.text.push(';');
        }
        self.text.push_str(&segment);
        Ok(())
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.split(';').filter_map(|segment| segment.split_once('='))
    }

    /// The value of a key, spelt exactly so; the last one if it stands twice.
    pub fn find(&self, key: &str) -> Option<&str> {
        self.iter().filter(|(name, _)| *name == key).last().map(|(_, value)| value)
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The value of `IgnoreUnknown`, wherever it stands; absent is false.
    ///
    /// # Errors
    ///
    /// When its value is no boolean. Code 4.
    pub fn ignore_unknown(&self) -> Result<bool, InvalidArgs> {
        self.find(IGNORE_UNKNOWN).map_or(Ok(false), |value| parse_bool(IGNORE_UNKNOWN, value))
    }

    /// Refuses keys that are not among the known ones, unless `IgnoreUnknown` allows them.
    ///
    /// # Errors
    ///
    /// When there are unknown keys, all of them named. Code 4.
    pub fn check_known(&self, known: &[&str]) -> Result<(), InvalidArgs> {
        if self.ignore_unknown()? {
            return Ok(());
        }
        let unknown: Vec<String> = self
            .iter()
            .filter(|(key, _)| *key != IGNORE_UNKNOWN && !known.contains(key))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        if unknown.is_empty() { Ok(()) } else { Err(InvalidArgs::Unknown { pairs: unknown }) }
    }
}

/// Reads a boolean as Go's library does: `1`, `0`, `true`, `false` in any letter case.
///
/// # Errors
///
/// When it is anything else; the key is for the message. Code 4.
pub fn parse_bool(key: &str, value: &str) -> Result<bool, InvalidArgs> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ if value.eq_ignore_ascii_case("true") => Ok(true),
        _ if value.eq_ignore_ascii_case("false") => Ok(false),
        _ => {
            let reason =
                format!("boolean unmarshal error: invalid input {value}, expected 1, 0, true or false");
            Err(InvalidArgs::value(key, value, reason))
        }
    }
}

impl fmt::Display for CniArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for CniArgs {
    type Err = InvalidArgs;

    fn from_str(text: &str) -> Result<Self, InvalidArgs> {
        for segment in text.split(';').filter(|segment| !segment.is_empty()) {
            match segment.split_once('=') {
                Some((key, _)) if !key.is_empty() => {}
                _ => return Err(InvalidArgs::Pair { segment: segment.to_owned() }),
            }
        }
        Ok(Self { text: text.to_owned() })
    }
}

/// `CNI_ARGS` cannot be used. Code 4.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidArgs {
    /// A segment that is no pair.
    #[error("ARGS: invalid pair {segment:?}, expected key=value")]
    Pair {
        /// The segment.
        segment: String,
    },
    /// Keys that the plugin does not know, and `IgnoreUnknown` does not allow.
    #[error("ARGS: unknown args {}", quoted(pairs))]
    Unknown {
        /// The pairs, in order.
        pairs: Vec<String>,
    },
    /// A value of the wrong form.
    #[error("ARGS: error parsing value of pair {segment:?}: {reason}")]
    Value {
        /// The pair.
        segment: String,
        /// What is wrong with the value.
        reason: String,
    },
}

impl InvalidArgs {
    /// The value of a key has the wrong form, for the reason given.
    pub fn value(key: &str, value: &str, reason: impl Into<String>) -> Self {
        Self::Value { segment: format!("{key}={value}"), reason: reason.into() }
    }
}

fn quoted(pairs: &[String]) -> String {
    let pairs: Vec<_> = pairs.iter().map(|pair| format!("{pair:?}")).collect();
    format!("[{}]", pairs.join(" "))
}

impl From<InvalidArgs> for ErrorObject {
    fn from(error: InvalidArgs) -> Self {
        Self::new(ErrorCode::INVALID_ENVIRONMENT, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c31_unknown_keys_are_an_error_only_without_ignore_unknown_wherever_it_stands() {
        let check = |text: &str| text.parse::<CniArgs>()?.check_known(&["IP"]);
        assert_eq!(
            check("IP=10.1.1.5;TESTARG=v"),
            Err(InvalidArgs::Unknown { pairs: vec!["TESTARG=v".to_owned()] })
        );
        for text in ["IgnoreUnknown=1;K8S_POD_NAME=p", "K8S_POD_NAME=p;IgnoreUnknown=TRUE"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        assert!(check("K8S_POD_NAME=p;IgnoreUnknown=0").is_err());
        assert!(matches!(check("IgnoreUnknown=yes"), Err(InvalidArgs::Value { .. })));
    }

    #[test]
    fn c32_pairs_round_trip_byte_for_byte() {
        for text in ["A=;B=1", "A=1;", "A=a=b", "B=2;A=1;B=3", "", ";;"] {
            assert_eq!(text.parse::<CniArgs>().map(|args| args.to_string()), Ok(text.to_owned()));
        }
        for text in ["=1", "A", "A=1;B", "="] {
            assert!(matches!(text.parse::<CniArgs>(), Err(InvalidArgs::Pair { .. })), "{text}");
        }
        let args: CniArgs = "B=2;A=1;B=3".parse().unwrap();
        assert_eq!(args.find("B"), Some("3"));
        assert_eq!(args.iter().count(), 3);
    }

    #[test]
    fn a_pushed_pair_can_be_read_back() {
        let mut args: CniArgs = "A=1;".parse().unwrap();
        args.push("B", "x=y").unwrap();
        assert_eq!(args.to_string(), "A=1;B=x=y");
        assert!(args.push("", "1").is_err());
        assert!(args.push("C", "1;D=2").is_err());
        assert!(args.push("C=", "1").is_err());
    }
}
