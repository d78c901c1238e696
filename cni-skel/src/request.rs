//! One request type a command: what a handler can read is there, and nothing else.
//!
//! What all commands have in common is in [`Context`], which every request dereferences to.

use std::ops::Deref;

use crate::call::Env;
use crate::netns::Netns;
use crate::plugin::CniPlugin;
use crate::types::config::{Attachment, PluginConfig};
use crate::types::result::Interface;
use crate::types::{AddResult, CniVersion, Command, ContainerId, InterfaceName, NetworkName};

/// What a request of any command carries.
pub struct Context<P: CniPlugin> {
    pub(crate) command: Command,
    pub(crate) env: std::sync::Arc<Env>,
    pub(crate) stdin: std::sync::Arc<Vec<u8>>,
    pub(crate) exec: Option<std::sync::Arc<dyn cni_invoke::Exec>>,
    pub(crate) network: NetworkName,
    pub(crate) version: CniVersion,
    pub(crate) network_config: PluginConfig,
    pub(crate) config: P::Config,
    pub(crate) runtime: P::Runtime,
}

impl<P: CniPlugin> Context<P> {
    /// The network's name.
    pub fn network(&self) -> &NetworkName {
        &self.network
    }

    /// The spec version of the configuration, which is also that of the reply.
    pub fn version(&self) -> CniVersion {
        self.version
    }

    /// The plugin's own configuration.
    pub fn config(&self) -> &P::Config {
        &self.config
    }

    /// What the runtime gave for the plugin's capabilities.
    #[doc(alias = "runtimeConfig")]
    pub fn runtime(&self) -> &P::Runtime {
        &self.runtime
    }

    /// The keys of the protocol, and everything else as text.
    #[doc(alias = "NetConf")]
    pub fn network_config(&self) -> &PluginConfig {
        &self.network_config
    }

    /// The request's configuration, byte for byte as it came.
    #[doc(alias = "StdinData")]
    pub fn stdin(&self) -> &[u8] {
        &self.stdin
    }
}

/// What ADD, CHECK and DEL carry besides: the attachment.
pub(crate) struct Attached<P: CniPlugin> {
    pub(crate) context: Context<P>,
    pub(crate) container_id: ContainerId,
    pub(crate) ifname: InterfaceName,
    pub(crate) args: P::Args,
}

macro_rules! debug {
    ($name:ident) => {
        impl<P: CniPlugin> std::fmt::Debug for $name<P> {
            /// Without the configuration, which may hold secrets.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("network", self.network())
                    .field("version", &self.version())
                    .finish_non_exhaustive()
            }
        }
    };
}

macro_rules! attached_request {
    ($name:ident) => {
        impl<P: CniPlugin> $name<P> {
            /// The container's ID.
            #[doc(alias = "CNI_CONTAINERID")]
            pub fn container_id(&self) -> &ContainerId {
                &self.attached.container_id
            }

            /// The name of the interface inside the container.
            #[doc(alias = "CNI_IFNAME")]
            pub fn ifname(&self) -> &InterfaceName {
                &self.attached.ifname
            }

            /// The arguments of `CNI_ARGS` that the plugin declares.
            #[doc(alias = "CNI_ARGS")]
            pub fn args(&self) -> &P::Args {
                &self.attached.args
            }
        }

        impl<P: CniPlugin> Deref for $name<P> {
            type Target = Context<P>;

            fn deref(&self) -> &Context<P> {
                &self.attached.context
            }
        }

        debug!($name);
    };
}

/// A request to attach a container.
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#add-add-container-to-network-or-apply-modifications).
#[doc(alias = "CmdArgs")]
pub struct AddRequest<P: CniPlugin> {
    pub(crate) attached: Attached<P>,
    pub(crate) netns: Netns,
    pub(crate) prev_result: Option<AddResult>,
}

attached_request!(AddRequest);

impl<P: CniPlugin> AddRequest<P> {
    /// The container's network namespace.
    #[doc(alias = "CNI_NETNS")]
    pub fn netns(&self) -> &Netns {
        &self.netns
    }

    /// The result of the plugins before this one; `None` for the first of a chain.
    #[doc(alias = "prevResult")]
    pub fn prev_result(&self) -> Option<&AddResult> {
        self.prev_result.as_ref()
    }

    /// What to start the own result from: the `prevResult` of a chain, else an empty one.
    pub fn result(&self) -> AddResult {
        self.prev_result.clone().unwrap_or_default()
    }

    /// The interface that the runtime asks for: its name, inside the container.
    pub fn interface(&self) -> Interface {
        Interface::new(self.ifname().as_str()).in_sandbox(self.netns.to_string())
    }
}

/// A request to verify an attachment.
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#check-check-containers-networking-is-as-expected).
pub struct CheckRequest<P: CniPlugin> {
    pub(crate) attached: Attached<P>,
    pub(crate) netns: Netns,
    pub(crate) prev_result: AddResult,
}

attached_request!(CheckRequest);

impl<P: CniPlugin> CheckRequest<P> {
    /// The container's network namespace.
    #[doc(alias = "CNI_NETNS")]
    pub fn netns(&self) -> &Netns {
        &self.netns
    }

    /// The result of the whole chain's ADD. A CHECK without one never gets here.
    #[doc(alias = "prevResult")]
    pub fn prev_result(&self) -> &AddResult {
        &self.prev_result
    }
}

/// A request to detach a container.
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#del-remove-container-from-network-or-un-apply-modifications).
pub struct DelRequest<P: CniPlugin> {
    pub(crate) attached: Attached<P>,
    pub(crate) netns: Option<Netns>,
    pub(crate) prev_result: Option<AddResult>,
}

attached_request!(DelRequest);

impl<P: CniPlugin> DelRequest<P> {
    /// The container's network namespace; `None` when it is gone already. An empty `CNI_NETNS` means the same.
    #[doc(alias = "CNI_NETNS")]
    pub fn netns(&self) -> Option<&Netns> {
        self.netns.as_ref()
    }

    /// The result of the whole chain's ADD, if the runtime has it still.
    #[doc(alias = "prevResult")]
    pub fn prev_result(&self) -> Option<&AddResult> {
        self.prev_result.as_ref()
    }
}

/// A request to remove what belongs to no valid attachment.
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#gc-clean-up-any-stale-resources).
pub struct GcRequest<P: CniPlugin> {
    pub(crate) context: Context<P>,
}

impl<P: CniPlugin> GcRequest<P> {
    /// The attachments to leave alone.
    #[doc(alias = "cni.dev/valid-attachments")]
    pub fn valid_attachments(&self) -> &[Attachment] {
        // They are there and whole, or the request would not have come so far.
        self.network_config.valid_attachments().ok().flatten().unwrap_or_default()
    }
}

/// A request to say whether ADD could succeed.
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#status-check-plugin-status).
pub struct StatusRequest<P: CniPlugin> {
    pub(crate) context: Context<P>,
}

impl<P: CniPlugin> Deref for GcRequest<P> {
    type Target = Context<P>;

    fn deref(&self) -> &Context<P> {
        &self.context
    }
}

impl<P: CniPlugin> Deref for StatusRequest<P> {
    type Target = Context<P>;

    fn deref(&self) -> &Context<P> {
        &self.context
    }
}

debug!(GcRequest);
debug!(StatusRequest);

impl<P: CniPlugin> std::fmt::Debug for Context<P> {
    /// Without the configuration, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("command", &self.command)
            .field("network", &self.network)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
