//! The copies in `spec` are those of `cni-types`, and what is read from names and doc comments.

use cni_skel::types::args::IGNORE_UNKNOWN;
use cni_skel::types::config::capability::DOCUMENTED;
use cni_skel::types::{CniVersion, ErrorCode};

use crate::spec;

#[test]
fn versions_are_those_of_the_types() {
    assert_eq!(spec::VERSIONS.map(|(version, _)| version), CniVersion::ALL.map(CniVersion::as_str));
    assert_eq!(
        spec::VERSIONS.map(|(_, variant)| variant.to_owned()),
        CniVersion::ALL.map(|version| format!("{version:?}"))
    );
}

#[test]
fn capabilities_are_those_of_the_types() {
    assert_eq!(spec::CAPABILITIES, DOCUMENTED);
}

#[test]
fn the_argument_about_unknown_ones_is_that_of_the_types() {
    assert_eq!(spec::IGNORE_UNKNOWN, IGNORE_UNKNOWN);
}

#[test]
fn every_code_that_has_a_name_is_known() {
    let mut ours: Vec<u64> = spec::NAMED_CODES.iter().map(|named| named.value).collect();
    ours.insert(0, spec::INCOMPATIBLE_CNI_VERSION.value);
    let theirs: Vec<u64> =
        (0..=1000).filter(|value| ErrorCode::new(*value).description().is_some()).collect();
    assert_eq!(ours, theirs);
    for value in 0..=200 {
        assert_eq!(value >= spec::FIRST_OWN_CODE, ErrorCode::new(value).is_plugin_specific(), "{value}");
    }
}

#[test]
fn the_names_of_codes_are_those_of_the_types() {
    macro_rules! value_of {
        ($name:expr, $($known:ident)*) => {
            match $name {
                $(stringify!($known) => ErrorCode::$known.value(),)*
                name => panic!("{name} is no code"),
            }
        };
    }
    for named in spec::NAMED_CODES.iter().chain([&spec::INCOMPATIBLE_CNI_VERSION]) {
        let value = value_of!(
            named.name,
            INCOMPATIBLE_CNI_VERSION UNSUPPORTED_FIELD UNKNOWN_CONTAINER INVALID_ENVIRONMENT IO_FAILURE
            DECODING_FAILURE INVALID_NETWORK_CONFIG INVALID_NETNS TRY_AGAIN PLUGIN_NOT_AVAILABLE LIMITED_CONNECTIVITY
            INTERNAL
        );
        assert_eq!(value, named.value, "{}", named.name);
    }
}
