//! Configurations: one plugin's, a network's list, and what a runtime adds per container.

pub mod capability;
mod flag;
mod gc;
mod list;
mod plugin;

pub use gc::{Attachment, VALID_ATTACHMENTS, VALID_ATTACHMENTS_OLD};
pub use list::{ListedPlugin, MAX_PLUGINS, MAX_VERSIONS, NetworkList};
pub use plugin::{Ipam, PluginConfig, declared_version};
