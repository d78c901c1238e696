//! A result together with the version it is in.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::convert::{ConversionError, layout_of, to_v020};
use super::{AddResult, v020, v040};
use crate::error::{DecodeError, ErrorObject};
use crate::wire::{self, ExtraKeys, InPlace, Layout, Object};
use crate::{CniVersion, VersionError};

/// A result in the version it was printed in, or is to be printed in.
///
/// ```
/// use cni_types::CniVersion;
/// use cni_types::result::VersionedResult;
///
/// let old = VersionedResult::decode(br#"{"cniVersion":"0.2.0","ip4":{"ip":"10.1.0.5/16"}}"#)?;
/// let new = old.convert(CniVersion::V1_1_0)?;
/// assert_eq!(serde_json::to_string(&new)?, r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedResult {
    version: CniVersion,
    body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    V020(Box<v020::Result>),
    V040(Box<v040::Result>),
    V100(Box<AddResult>),
}

impl VersionedResult {
    /// A result that is to be printed in a version.
    ///
    /// # Errors
    ///
    /// When the version cannot express it: 0.1.0 and 0.2.0 need an address.
    pub fn new(result: AddResult, version: CniVersion) -> Result<Self, ConversionError> {
        // Left there when the author's code has read the result as JSON; the version that is told is the one wanted.
        let result = AddResult { declared: None, ..result };
        Self { version: CniVersion::NEWEST, body: Body::V100(Box::new(result)) }.convert(version)
    }

    /// Reads a result in the version that it says itself; absent, empty and `null` mean 0.1.0.
    ///
    /// # Errors
    ///
    /// When the bytes are no JSON object, the version is no released one, the body does not fit it, or it is an error object.
    #[doc(alias = "CreateFromBytes")]
    pub fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_with_default(CniVersion::WHEN_ABSENT, json)
    }

    /// Reads a result in the version that it says itself, or else in the one given, which is the configuration's.
    ///
    /// The spec lets a plugin leave `cniVersion` out of a result, and means the version it was called with.
    ///
    /// # Errors
    ///
    /// As for [`VersionedResult::decode`].
    pub fn decode_with_default(default: CniVersion, json: &[u8]) -> Result<Self, DecodeError> {
        // Nearly every peer prints the version first: reading the body at once by that guess spares a pass over the
        // bytes. The guess is checked against what the body says.
        if let Some(guess) = guess_version(json)
            && let Ok(result) = Self::decode_body(guess, json)
            && result.1.as_deref() == Some(guess.as_str())
        {
            return Ok(result.0);
        }
        let version = match declared_version(json)? {
            None => default,
            Some(text) => known_version(&text)?,
        };
        Self::decode_body(version, json).map(|(result, _)| result)
    }

    /// Reads a result that must have the layout of a version. Any version of that layout may stand in it, and one must,
    /// except for 0.1.0 and 0.2.0.
    ///
    /// # Errors
    ///
    /// As for [`VersionedResult::decode`], and when the result is of another layout.
    #[doc(alias = "Create")]
    pub fn decode_in_layout_of(version: CniVersion, json: &[u8]) -> Result<Self, DecodeError> {
        let declared = declared_version(json)?;
        let found = declared.as_deref().unwrap_or_default();
        let layout = layout_of(version);
        match known_version(found) {
            Ok(found) if layout_of(found) == layout => {
                Self::decode_body(found, json).map(|(result, _)| result)
            }
            _ => {
                let fitting: Vec<_> = CniVersion::ALL
                    .into_iter()
                    .filter(|v| layout_of(*v) == layout)
                    .map(CniVersion::as_str)
                    .collect();
                let message =
                    format!("result type supports {fitting:?} but the result's version is {found:?}");
                Err(DecodeError::data("result", "cniVersion", message))
            }
        }
    }

    /// The version.
    pub fn version(&self) -> CniVersion {
        self.version
    }

    /// The same result in another version.
    ///
    /// What the version cannot express is dropped: `interfaces` and all but the first address of a family for 0.1.0 and
    /// 0.2.0; `mtu`, `socketPath` and `pciID` of an interface below 1.0.0; unknown keys between layouts.
    ///
    /// # Errors
    ///
    /// When there is no address, and the version is 0.1.0 or 0.2.0.
    #[doc(alias = "GetAsVersion")]
    pub fn convert(self, to: CniVersion) -> Result<Self, ConversionError> {
        let from = self.version;
        let body = match (self.body, layout_of(to)) {
            (body @ Body::V020(_), Layout::V020)
            | (body @ Body::V040(_), Layout::V040)
            | (body @ Body::V100(_), Layout::V100) => body,
            (Body::V020(old), Layout::V040) => Body::V040(Box::new((*old).into())),
            (Body::V020(old), Layout::V100) => Body::V100(Box::new(v040::Result::from(*old).into())),
            (Body::V040(old), Layout::V100) => Body::V100(Box::new((*old).into())),
            (Body::V100(new), Layout::V040) => Body::V040(Box::new((*new).into())),
            (Body::V040(new), Layout::V020) => v020_body(*new, from, to)?,
            (Body::V100(new), Layout::V020) => v020_body((*new).into(), from, to)?,
        };
        Ok(Self { version: to, body })
    }

    /// The result in the newest layout, which is what authors work with.
    pub fn into_add_result(self) -> AddResult {
        match self.body {
            Body::V020(old) => v040::Result::from(*old).into(),
            Body::V040(old) => (*old).into(),
            Body::V100(result) => *result,
        }
    }

    /// The result in the layout of 0.1.0 and 0.2.0, if it has that one.
    pub fn as_v020(&self) -> Option<&v020::Result> {
        if let Body::V020(body) = &self.body { Some(body) } else { None }
    }

    /// The result in the layout of 0.3.0 to 0.4.0, if it has that one.
    pub fn as_v040(&self) -> Option<&v040::Result> {
        if let Body::V040(body) = &self.body { Some(body) } else { None }
    }

    /// The result in the layout of 1.0.0 and later, if it has that one.
    pub fn as_v100(&self) -> Option<&AddResult> {
        if let Body::V100(body) = &self.body { Some(body) } else { None }
    }

    /// The JSON text as plugins print it: indented by four spaces, as Go's library does, without a final newline.
    pub fn to_json(&self) -> String {
        wire::to_pretty_json(self)
    }

    /// Reads the body by a version; gives the version that stands in it, too.
    fn decode_body(version: CniVersion, json: &[u8]) -> Result<(Self, Option<String>), DecodeError> {
        let (body, declared) = match layout_of(version) {
            Layout::V020 => {
                let mut body: Box<v020::Result> = decode_or_empty(json)?;
                let declared = body.declared.take();
                refuse_error_object(
                    &body.extra,
                    body.ip4.is_none() && body.ip6.is_none() && body.dns.is_empty(),
                )?;
                (Body::V020(body), declared)
            }
            Layout::V040 => {
                let mut body: Box<v040::Result> = decode_or_empty(json)?;
                let declared = body.declared.take();
                refuse_error_object(
                    &body.extra,
                    body.interfaces.is_empty()
                        && body.ips.is_empty()
                        && body.routes.is_empty()
                        && body.dns.is_empty(),
                )?;
                (Body::V040(body), declared)
            }
            Layout::V100 => {
                let mut body: Box<AddResult> = decode_or_empty(json)?;
                let declared = body.declared.take();
                refuse_error_object(
                    &body.extra,
                    body.interfaces.is_empty()
                        && body.ips.is_empty()
                        && body.routes.is_empty()
                        && body.dns.is_empty(),
                )?;
                (Body::V100(body), declared)
            }
        };
        Ok((Self { version, body }, declared))
    }
}

impl Serialize for VersionedResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cniVersion", &self.version)?;
        match &self.body {
            Body::V020(body) => body.serialize_entries(&mut map)?,
            Body::V040(body) => body.serialize_entries(&mut map)?,
            Body::V100(body) => body.serialize_entries(&mut map)?,
        }
        map.end()
    }
}

fn v020_body(new: v040::Result, from: CniVersion, to: CniVersion) -> Result<Body, ConversionError> {
    to_v020(new).map(|old| Body::V020(Box::new(old))).ok_or(ConversionError { from, to })
}

/// Decodes a body; `null` is an empty one.
fn decode_or_empty<T: Object>(json: &[u8]) -> Result<Box<T>, DecodeError> {
    let mut body = Box::new(T::blank());
    if json.trim_ascii() != b"null" {
        wire::decode_by(InPlace(&mut *body), "result", json)?;
    }
    Ok(body)
}

/// The version that a document says, anywhere in it.
fn declared_version(json: &[u8]) -> Result<Option<String>, DecodeError> {
    if json.trim_ascii() == b"null" {
        return Ok(None);
    }
    wire::declared_version("result", json)
}

fn known_version(text: &str) -> Result<CniVersion, DecodeError> {
    text.parse().map_err(|error: VersionError| {
        DecodeError::data("result", "cniVersion", format!("unsupported CNI result version {text:?}: {error}"))
    })
}

/// An error object has no key of a result, so it would pass for one that says nothing and hide the failure that it tells of.
fn refuse_error_object(extra: &ExtraKeys, says_nothing: bool) -> Result<(), DecodeError> {
    if !says_nothing || extra.find("code").is_none() || extra.find("msg").is_none() {
        return Ok(());
    }
    // Read from what was kept, not from the document: an earlier duplicate of a key does not count.
    let kept = serde_json::to_vec(extra).unwrap_or_default();
    match ErrorObject::decode(&kept) {
        Ok(object) => {
            let message = format!("expected a result, found an error object: {object}");
            Err(DecodeError::data("result", "", message))
        }
        Err(_) => Ok(()),
    }
}

/// The version, if the document starts with it.
fn guess_version(json: &[u8]) -> Option<CniVersion> {
    let rest = json.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    let rest =
        rest.strip_prefix(b"\"cniVersion\"")?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let text = rest.strip_prefix(b"\"")?;
    CniVersion::ALL.into_iter().find(|version| {
        text.strip_prefix(version.as_str().as_bytes()).is_some_and(|rest| rest.starts_with(b"\""))
    })
}

#[cfg(test)]
mod tests {
    use super::VersionedResult;
    use crate::{AddResult, CniVersion};

    #[test]
    fn an_error_object_is_no_result_but_a_result_may_have_such_keys() {
        for version in ["0.2.0", "0.4.0", "1.1.0"] {
            let text = format!(r#"{{"cniVersion":"{version}","code":7,"msg":"boom","details":"d"}}"#);
            let error = VersionedResult::decode(text.as_bytes()).unwrap_err();
            assert_eq!(error.message(), "expected a result, found an error object: boom: d (code 7)");
            let text = format!(r#"{{"cniVersion":"{version}","code":7,"msg":"m","dns":{{"domain":"d"}}}}"#);
            assert!(VersionedResult::decode(text.as_bytes()).is_ok());
        }
        assert!(VersionedResult::decode(br#"{"code":7}"#).is_ok());
        // Found by fuzzing: what is no code counts as little as any other value that a later duplicate takes the place of.
        let duplicate = br#"{"code":1e99,"msg":"boom","code":7}"#;
        assert!(VersionedResult::decode(duplicate).is_err());
    }

    /// Found by fuzzing.
    #[test]
    fn the_place_of_a_fault_is_in_the_document_that_is_no_utf8() {
        let cut_off = b"{\"cniVersion\":\"0.4.0\",\"rout\x96\xc4\xdd\xc5\xa4\xcf\xa2\x82";
        for version in CniVersion::ALL {
            let error = VersionedResult::decode_in_layout_of(version, cut_off).unwrap_err();
            assert_eq!((error.line(), error.column()), (1, 28), "{error}");
        }
    }

    /// Found by fuzzing.
    #[test]
    fn what_is_set_aside_for_another_layout_does_not_print_an_empty_object() {
        let old = br#"{"cniVersion":"0.4.0","dns":{"a":1}}"#;
        let new = VersionedResult::decode(old).unwrap().convert(CniVersion::V1_0_0).unwrap();
        assert_eq!(serde_json::to_string(&new).unwrap(), r#"{"cniVersion":"1.0.0"}"#);
        let back = new.convert(CniVersion::V0_4_0).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap().as_bytes(), old);
    }

    #[test]
    fn a_result_that_was_read_as_json_is_printed_with_one_version() {
        let result: AddResult = serde_json::from_str(r#"{"cniVersion":"1.0.0"}"#).unwrap();
        for version in [CniVersion::V0_4_0, CniVersion::V1_0_0, CniVersion::V1_1_0] {
            let text = VersionedResult::new(result.clone(), version).unwrap().to_json();
            assert_eq!(text.matches("cniVersion").count(), 1, "{text}");
            assert!(text.contains(version.as_str()), "{text}");
        }
    }
}
