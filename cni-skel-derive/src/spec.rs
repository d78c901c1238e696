//! What the macros know of CNI: versions, capabilities, codes.
//!
//! Copies, because a macro crate that built `cni-types` would build it twice for every plugin. The tests compare them
//! with the originals.

/// Every released spec version and its name in `CniVersion`, oldest first.
pub(crate) const VERSIONS: [(&str, &str); 7] = [
    ("0.1.0", "V0_1_0"),
    ("0.2.0", "V0_2_0"),
    ("0.3.0", "V0_3_0"),
    ("0.3.1", "V0_3_1"),
    ("0.4.0", "V0_4_0"),
    ("1.0.0", "V1_0_0"),
    ("1.1.0", "V1_1_0"),
];

/// The capabilities that the conventions document.
pub(crate) const CAPABILITIES: [&str; 10] = [
    "aliases",
    "bandwidth",
    "cgroupPath",
    "deviceID",
    "dns",
    "infinibandGUID",
    "ipRanges",
    "ips",
    "mac",
    "portMappings",
];

/// The argument that says what happens to unknown ones.
pub(crate) const IGNORE_UNKNOWN: &str = "IgnoreUnknown";

/// The first code that is a plugin's own.
pub(crate) const FIRST_OWN_CODE: u64 = 100;

/// A code with a name of its own in `ErrorCode`.
pub(crate) struct NamedCode {
    pub(crate) value: u64,
    pub(crate) name: &'static str,
}

/// The code that only the SDK gives: it compares versions before a handler runs.
pub(crate) const INCOMPATIBLE_CNI_VERSION: NamedCode =
    NamedCode { value: 1, name: "INCOMPATIBLE_CNI_VERSION" };

/// The codes that a plugin may give to its errors by name.
pub(crate) const NAMED_CODES: [NamedCode; 11] = [
    NamedCode { value: 2, name: "UNSUPPORTED_FIELD" },
    NamedCode { value: 3, name: "UNKNOWN_CONTAINER" },
    NamedCode { value: 4, name: "INVALID_ENVIRONMENT" },
    NamedCode { value: 5, name: "IO_FAILURE" },
    NamedCode { value: 6, name: "DECODING_FAILURE" },
    NamedCode { value: 7, name: "INVALID_NETWORK_CONFIG" },
    NamedCode { value: 8, name: "INVALID_NETNS" },
    NamedCode { value: 11, name: "TRY_AGAIN" },
    NamedCode { value: 50, name: "PLUGIN_NOT_AVAILABLE" },
    NamedCode { value: 51, name: "LIMITED_CONNECTIVITY" },
    NamedCode { value: 999, name: "INTERNAL" },
];

/// A name without what differs between spellings: letter case and underscores.
pub(crate) fn fold(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}
