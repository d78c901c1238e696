//! What a runtime says about one attachment: which container, by which interface, and what to tell the plugins.
//!
//! Every value is checked when it is put in, so that an operation never starts with one that breaks a rule.

use std::fmt;

use cni_types::args::InvalidArgs;
use cni_types::config::Attachment;
use cni_types::{CniArgs, ContainerId, ErrorCode, ErrorObject, ExtraKeys, InterfaceName, InvalidName};
use serde::Serialize;

/// The parameters of an operation on one attachment.
///
/// DEL and CHECK should get the same ones as ADD. See
/// [`CachedAttachment::runtime_conf`](crate::CachedAttachment::runtime_conf) for those that the cache kept.
///
/// ```
/// use libcni::RuntimeConf;
///
/// let rt = RuntimeConf::new("c1", "eth0")?
///     .with_netns("/run/netns/c1")
///     .with_arg("IgnoreUnknown", "1")?
///     .with_capability("portMappings", &serde_json::json!([{"hostPort": 8080, "containerPort": 80}]))?;
/// assert_eq!(rt.args().to_string(), "IgnoreUnknown=1");
///
/// let error = RuntimeConf::new("-c1", "a/b").unwrap_err();
/// assert_eq!((error.faults.len(), error.code().value()), (2, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#parameters).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeConf {
    container_id: ContainerId,
    ifname: InterfaceName,
    netns: Option<String>,
    args: CniArgs,
    capability_args: ExtraKeys,
}

impl RuntimeConf {
    /// An attachment of a container by an interface.
    ///
    /// # Errors
    ///
    /// When one of the names, or both, breaks its rule. Code 4.
    pub fn new(
        container_id: impl Into<String>,
        ifname: impl Into<String>,
    ) -> Result<Self, InvalidParameters> {
        match (ContainerId::new(container_id), InterfaceName::new(ifname)) {
            (Ok(container_id), Ok(ifname)) => Ok(Self {
                container_id,
                ifname,
                netns: None,
                args: CniArgs::new(),
                capability_args: ExtraKeys::default(),
            }),
            (container_id, ifname) => {
                let faults = [container_id.err(), ifname.err()].into_iter().flatten().collect();
                Err(InvalidParameters { faults })
            }
        }
    }

    /// The same with an isolation domain, such as the path of a network namespace; empty means none.
    ///
    /// Plugins want one for ADD and CHECK. For DEL it may be gone.
    #[must_use]
    pub fn with_netns(mut self, netns: impl Into<String>) -> Self {
        self.netns = Some(netns.into()).filter(|netns| !netns.is_empty());
        self
    }

    /// The same with one more pair of `CNI_ARGS`.
    ///
    /// # Errors
    ///
    /// When the pair could not be read back by a plugin. Code 4.
    pub fn with_arg(mut self, key: &str, value: &str) -> Result<Self, InvalidArgs> {
        self.args.push(key, value)?;
        Ok(self)
    }

    /// The same with these `CNI_ARGS`.
    #[must_use]
    pub fn with_args(mut self, args: CniArgs) -> Self {
        self.args = args;
        self
    }

    /// The same with a value for those plugins that declare the capability.
    ///
    /// # Errors
    ///
    /// When the value has no JSON form.
    pub fn with_capability(
        mut self,
        capability: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        self.capability_args.insert(capability, value)?;
        Ok(self)
    }

    /// The same with these values for those plugins that declare the capabilities, by capability.
    #[must_use]
    pub fn with_capability_args(mut self, capability_args: ExtraKeys) -> Self {
        self.capability_args = capability_args;
        self
    }

    /// The container's ID.
    pub fn container_id(&self) -> &ContainerId {
        &self.container_id
    }

    /// The name of the interface inside the container.
    pub fn ifname(&self) -> &InterfaceName {
        &self.ifname
    }

    /// The isolation domain.
    pub fn netns(&self) -> Option<&str> {
        self.netns.as_deref()
    }

    /// The pairs of `CNI_ARGS`.
    pub fn args(&self) -> &CniArgs {
        &self.args
    }

    /// What is offered to the plugins, by capability.
    pub fn capability_args(&self) -> &ExtraKeys {
        &self.capability_args
    }

    /// Container and interface, as GC names an attachment.
    pub fn attachment(&self) -> Attachment {
        Attachment::new(self.container_id.as_str(), self.ifname.as_str())
    }
}

/// Parameters of an operation break a rule. Code 4.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidParameters {
    /// Each name that does; at least one.
    pub faults: Vec<InvalidName>,
}

impl InvalidParameters {
    /// The CNI code: 4.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::INVALID_ENVIRONMENT
    }
}

impl fmt::Display for InvalidParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidParameters {}

impl From<InvalidParameters> for ErrorObject {
    /// The first fault with Go's message; the details tell the others, too.
    fn from(error: InvalidParameters) -> Self {
        let Some(first) = error.faults.first() else {
            return Self::new(error.code(), "invalid parameters");
        };
        let object = Self::from(first.clone());
        if error.faults.len() == 1 { object } else { object.with_details(error.to_string()) }
    }
}
