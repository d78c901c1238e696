//! Results of every layout: what is read prints as what reads the same.

use cni_types::{AddResult, CniVersion, MAX_NESTING, VersionedResult};

use crate::json;

/// The longest way from a document to an object that keeps unknown keys: `ip4.routes[0].x`.
const LEVELS_ABOVE_UNKNOWN: usize = 4;

/// Reads bytes as a result in every way there is.
pub fn check(bytes: &[u8]) {
    look_at(VersionedResult::decode(bytes), bytes);
    for version in CniVersion::ALL {
        look_at(VersionedResult::decode_with_default(version, bytes), bytes);
        look_at(VersionedResult::decode_in_layout_of(version, bytes), bytes);
    }
    // What an author reads who takes the newest layout for granted.
    if let Ok(result) = serde_json::from_slice::<AddResult>(bytes) {
        for problem in result.validate() {
            assert!(!problem.to_string().is_empty());
        }
    }
}

fn look_at(decoded: Result<VersionedResult, cni_types::DecodeError>, bytes: &[u8]) {
    match decoded {
        Ok(result) => {
            let text = result.to_json();
            let again = VersionedResult::decode(text.as_bytes()).expect("what was printed can be read");
            assert_eq!(again, result);
            assert_eq!(again.to_json(), text);
            assert!(json::depth(&text) <= MAX_NESTING + LEVELS_ABOVE_UNKNOWN, "nests too deep: {text}");
        }
        Err(error) => json::check_error(&error, bytes),
    }
}
