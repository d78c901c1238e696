//! The checks: what each one is called, which clause of the spec it holds a plugin to, and how strict the clause is.
//!
//! An ID never changes its meaning and is never used again. How a check is made is in `checks`.

use std::fmt;

use cni_types::CniVersion;
use serde::Serialize;

/// How strict a clause is, as [RFC 2119](https://www.rfc-editor.org/rfc/rfc2119) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(clippy::exhaustive_enums, reason = "a third level would change what every report means")]
pub enum Severity {
    /// A plugin that fails it does not conform.
    Must,
    /// A plugin may have a good reason to differ.
    Should,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        })
    }
}

/// One clause of the spec that plugins are held to.
///
/// ```
/// use cni_conformance::{Check, Severity};
///
/// let twice = Check::find("del-twice").unwrap();
/// assert_eq!(twice.severity, Severity::Must);
/// assert!(twice.link().starts_with("https://github.com/containernetworking/cni/blob/main/SPEC.md#del-"));
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// What the check is called in reports, for good.
    pub id: &'static str,
    /// How strict the clause is.
    pub severity: Severity,
    /// What the clause asks for.
    pub clause: &'static str,
    /// The first version of the spec whose configurations it holds for.
    pub since: CniVersion,
    section: &'static str,
}

impl Check {
    /// Every check, in the order of reports.
    pub const ALL: &'static [&'static Self] = ALL;

    /// The check of an ID.
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::ALL.iter().copied().find(|check| check.id == id)
    }

    /// Where the clause stands.
    pub fn link(&self) -> String {
        // What only an earlier version says in so many words stands at its tag.
        let (revision, anchor) = self.section.split_once(' ').unwrap_or(("main", self.section));
        format!("https://github.com/containernetworking/cni/blob/{revision}/SPEC.md#{anchor}")
    }
}

/// Sections of the spec, by their anchors.
mod section {
    pub(super) const ADD: &str = "add-add-container-to-network-or-apply-modifications";
    pub(super) const ADD_SUCCESS: &str = "add-success";
    pub(super) const ATTACHMENT: &str = "section-3-execution-of-network-configurations";
    pub(super) const CHECK: &str = "check-check-containers-networking-is-as-expected";
    pub(super) const CONFIG: &str = "plugin-configuration-objects";
    pub(super) const DEL: &str = "del-remove-container-from-network-or-un-apply-modifications";
    pub(super) const DELEGATE: &str = "delegated-plugin-protocol";
    pub(super) const DELEGATION: &str = "delegated-plugin-execution-procedure";
    pub(super) const ERROR: &str = "error";
    pub(super) const ERRORS: &str = "errors";
    pub(super) const GC: &str = "gc-clean-up-any-stale-resources";
    pub(super) const IPAM: &str = "delegated-plugins-ipam";
    pub(super) const LIFECYCLE: &str = "lifecycle--ordering";
    pub(super) const OPERATIONS: &str = "cni-operations";
    pub(super) const OPERATIONS_V0_4_0: &str = "spec-v0.4.0 parameters";
    pub(super) const OVERVIEW: &str = "overview-1";
    pub(super) const PARAMETERS: &str = "parameters";
    pub(super) const STATUS: &str = "status-check-plugin-status";
    pub(super) const VERSION: &str = "version-probe-plugin-version-support";
    pub(super) const VERSION_SUCCESS: &str = "version-success";
}

macro_rules! checks {
    ($($name:ident = $id:literal, $severity:ident, $since:ident, $section:ident, $clause:literal;)*) => {
        $(
            pub(crate) static $name: Check = Check {
                id: $id,
                severity: Severity::$severity,
                clause: $clause,
                since: CniVersion::$since,
                section: section::$section,
            };
        )*
        static ALL: &[&Check] = &[$(&$name),*];
    };
}

checks! {
    VERSION_REPLY = "version-reply", Must, V0_1_0, VERSION_SUCCESS,
        "VERSION prints an object with `cniVersion` and a list `supportedVersions`";
    VERSION_ENV = "version-env", Must, V0_1_0, VERSION,
        "VERSION needs no variable but `CNI_COMMAND`";
    VERSION_ECHO = "version-echo", Must, V1_0_0, VERSION_SUCCESS,
        "the `cniVersion` of VERSION's reply is that of its input";
    VERSION_KNOWN = "version-known", Must, V0_1_0, VERSION_SUCCESS,
        "every supported version is a version of the spec";

    STDOUT_PURE = "stdout-pure", Must, V0_1_0, OVERVIEW,
        "stdout carries one JSON document or nothing; everything else belongs on stderr";
    ERROR_EXIT = "error-exit", Must, V0_1_0, ERRORS,
        "the plugin exits by itself: with 0 on success, with another status on failure";
    ERROR_OBJECT = "error-object", Should, V0_1_0, ERROR,
        "a failure prints an error object with a numeric `code` and a `msg`";
    ERROR_VERSION = "error-version", Should, V0_1_0, ERROR,
        "the `cniVersion` of an error object is the configuration's";
    ERROR_CODE = "error-code", Must, V0_1_0, ERROR,
        "codes 0 to 99 have the meanings of the spec and no others";

    COMMAND_UNKNOWN = "command-unknown", Should, V0_1_0, OPERATIONS,
        "a `CNI_COMMAND` that is none of the spec's is refused with code 4";
    ENV_REQUIRED = "env-required", Should, V0_1_0, PARAMETERS,
        "a command without a variable that it requires is refused with code 4";
    ENV_CONTAINER_ID = "env-container-id", Should, V0_4_0, PARAMETERS,
        "a `CNI_CONTAINERID` with other characters than the spec allows is refused with code 4";
    ENV_IFNAME = "env-ifname", Must, V0_4_0, PARAMETERS,
        "a `CNI_IFNAME` that no interface can have is refused";
    ENV_ERROR_NAMES = "env-error-names", Must, V0_4_0, ERROR,
        "an error with code 4 names the variables that are wrong";
    ENV_OPTIONAL = "env-optional", Must, V0_1_0, PARAMETERS,
        "ADD works without the variables that it does not require";

    STDIN_DECODE = "stdin-decode", Should, V0_4_0, ERROR,
        "stdin that is no JSON object is refused with code 6";
    CONFIG_NAME = "config-name", Should, V0_4_0, ERROR,
        "a configuration whose network name is missing or against the rules is refused with code 7";
    CONFIG_VERSION = "config-version", Should, V0_1_0, ERROR,
        "a configuration in a version that VERSION does not list is refused with code 1";
    CONFIG_UNKNOWN_KEY = "config-unknown-key", Must, V0_1_0, ERROR,
        "a plugin that refuses a key it does not know does so with code 2 and names key and value";
    CONFIG_ARGS = "config-args", Should, V0_2_0, CONFIG,
        "`args`, which the runtime fills, is no reason to fail";

    ADD_SUCCEEDS = "add-succeeds", Must, V0_1_0, ADD,
        "ADD succeeds in every version that VERSION lists, and prints a result";
    ADD_RESULT_VERSION = "add-result-version", Must, V0_1_0, ADD_SUCCESS,
        "the `cniVersion` of a result is the configuration's";
    ADD_RESULT_SHAPE = "add-result-shape", Must, V0_1_0, ADD_SUCCESS,
        "a result has the layout of the configuration's version";
    ADD_INTERFACE_INDEX = "add-interface-index", Must, V0_3_0, ADD_SUCCESS,
        "the `interface` of an address is the index of an interface of the result";
    ADD_SANDBOX = "add-sandbox", Should, V0_3_0, ADD_SUCCESS,
        "the `sandbox` of an interface in the container is the value of `CNI_NETNS`";
    ADD_IFNAME = "add-ifname", Must, V0_3_0, PARAMETERS,
        "an interface that the plugin makes in the container has the name `CNI_IFNAME`";
    ADD_INTERFACE = "add-interface", Must, V0_3_0, ADD_SUCCESS,
        "an interface that a result places in the container is there";
    ADD_EXISTS = "add-exists", Must, V0_1_0, ADD,
        "ADD fails if the container has an interface of that name already";
    ADD_PREV_RESULT = "add-prev-result", Must, V1_0_0, ADD,
        "what stands in `prevResult` stands in the result";

    DEL_AFTER_ADD = "del-after-add", Must, V0_1_0, DEL,
        "DEL succeeds after ADD";
    DEL_TWICE = "del-twice", Must, V0_1_0, DEL,
        "DEL succeeds a second time";
    DEL_BEFORE_ADD = "del-before-add", Must, V0_1_0, DEL,
        "DEL succeeds for a container that was never attached";
    DEL_WITHOUT_NETNS = "del-without-netns", Must, V0_1_0, DEL,
        "DEL succeeds with `CNI_NETNS` absent or empty";
    DEL_NETNS_GONE = "del-netns-gone", Should, V0_1_0, DEL,
        "DEL succeeds when the network namespace is gone";
    DEL_WITHOUT_PREV_RESULT = "del-without-prev-result", Should, V0_4_0, OPERATIONS_V0_4_0,
        "DEL succeeds without `prevResult`";
    DEL_UNDOES = "del-undoes", Should, V0_1_0, DEL,
        "DEL undoes what ADD did, so that another container can have its place";
    DEL_REMOVES_INTERFACE = "del-removes-interface", Should, V0_1_0, DEL,
        "DEL deletes the interface that ADD made";
    DEL_AFTER_DAMAGE = "del-after-damage", Must, V0_1_0, DEL,
        "DEL succeeds when the interface is missing or down";

    CHECK_AFTER_ADD = "check-after-add", Must, V0_4_0, CHECK,
        "CHECK succeeds right after ADD";
    CHECK_LATER_CHANGES = "check-later-changes", Must, V0_4_0, CHECK,
        "CHECK allows for what later plugins of the chain have added to the result";
    CHECK_AFTER_DAMAGE = "check-after-damage", Should, V0_4_0, CHECK,
        "CHECK fails when an interface of the plugin's is missing or down";
    CHECK_SILENT = "check-silent", Must, V0_4_0, OPERATIONS_V0_4_0,
        "CHECK of 0.4.0 prints nothing when it succeeds";

    STATUS_READY = "status-ready", Must, V1_1_0, STATUS,
        "STATUS succeeds while ADD does";

    GC_SUCCEEDS = "gc-succeeds", Should, V1_1_0, GC,
        "GC succeeds, whichever attachments are valid";
    GC_SILENT = "gc-silent", Must, V1_1_0, GC,
        "GC prints nothing when it succeeds";
    GC_KEEPS_VALID = "gc-keeps-valid", Must, V1_1_0, GC,
        "GC leaves valid attachments as they are";
    GC_REMOVES_STALE = "gc-removes-stale", Should, V1_1_0, GC,
        "GC removes what belongs to attachments that are not listed";

    CONCURRENT = "concurrent", Must, V0_1_0, LIFECYCLE,
        "calls for different containers may run at the same time";
    ATTACHMENT_KEY = "attachment-key", Should, V0_3_0, ATTACHMENT,
        "an attachment is a container and an interface: one of two of the same container can go alone";

    IPAM_ENV = "ipam-env", Must, V0_1_0, DELEGATE,
        "a delegate receives the environment that the plugin received";
    IPAM_CONFIG = "ipam-config", Must, V0_1_0, DELEGATE,
        "a delegate receives the whole configuration that the plugin received";
    IPAM_SEARCH_PATH = "ipam-search-path", Should, V0_1_0, DELEGATION,
        "delegates are looked for along `CNI_PATH`, and nowhere else";
    IPAM_STDERR = "ipam-stderr", Should, V0_4_0, DELEGATION,
        "a delegate's stderr goes to the plugin's stderr";
    IPAM_RESULT = "ipam-result", Should, V0_1_0, DELEGATION,
        "the addresses that an IPAM plugin gave stand in the result";
    IPAM_INDEXES = "ipam-indexes", Should, V0_3_0, ADD_SUCCESS,
        "addresses of an IPAM plugin get the `interface` that they are on";
    IPAM_CHECK = "ipam-check", Must, V0_4_0, DELEGATION,
        "CHECK executes the delegate with CHECK";
    IPAM_DEL = "ipam-del", Must, V0_1_0, DELEGATION,
        "DEL executes the delegate with DEL";
    IPAM_GC = "ipam-gc", Must, V1_1_0, GC,
        "GC executes the delegate with GC";
    IPAM_STATUS = "ipam-status", Must, V1_1_0, STATUS,
        "STATUS executes the delegate with STATUS";
    IPAM_ERRORS = "ipam-errors", Must, V0_1_0, DELEGATION,
        "an error of a delegate is an error of the plugin";
    IPAM_FAILED_ADD = "ipam-failed-add", Should, V0_1_0, DELEGATION,
        "a delegate whose ADD failed is executed with DEL before the plugin fails";
    IPAM_ABBREVIATED = "ipam-abbreviated", Must, V1_0_0, IPAM,
        "the result of an IPAM plugin has no `interfaces`, and its addresses no `interface`";
}
