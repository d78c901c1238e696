//! What a call must keep before a handler sees it, one function a rule. In which order they are asked is the dispatch's.

use std::borrow::Cow;
use std::sync::Arc;

use crate::call::Call;
use crate::netns::{Netns, NetnsId};
use crate::types::config::{Attachment, PluginConfig, VALID_ATTACHMENTS};
use crate::types::{
    CniVersion, Command, DecodeError, ErrorCode, ErrorObject, NetworkName, VersionError, env, reconcile,
};
use crate::vars;

/// What this is, in messages.
const WHAT: &str = "network configuration";

/// Refuses to work in the plugin's own namespace, before anything is touched.
pub(super) fn refuse_own_netns(call: &Call, netns: &Netns) -> Result<(), ErrorObject> {
    if vars::may_use_own_netns(call) {
        return Ok(());
    }
    // The plugin's own last: /proc makes what it tells of a process when it is asked, and that takes its time.
    let Some(given) = NetnsId::of(netns.path()) else { return Ok(()) };
    if call.own_netns() != Some(&given) {
        return Ok(());
    }
    let msg = "plugin's netns and netns from CNI_NETNS should not be the same";
    let details = format!("{} is {:?}; set {}=1 to allow it", env::NETNS, netns.path(), env::NETNS_OVERRIDE);
    Err(ErrorObject::new(ErrorCode::INVALID_NETNS, msg).with_details(details))
}

/// The protocol keys of the request.
pub(super) fn network_config(stdin: &Arc<Vec<u8>>) -> Result<PluginConfig, ErrorObject> {
    let trimmed = stdin.trim_ascii();
    if trimmed.is_empty() || trimmed == b"null" {
        let found = if trimmed.is_empty() { "stdin is empty" } else { "stdin is null" };
        let msg = format!("cannot decode {WHAT}: {found}, expected a JSON object");
        return Err(ErrorObject::new(ErrorCode::DECODING_FAILURE, msg));
    }
    PluginConfig::decode_shared(stdin).map_err(ErrorObject::from)
}

/// The name must be there and good; the type, if it is there; and it must be one plugin's configuration.
pub(super) fn network(config: &PluginConfig) -> Result<NetworkName, ErrorObject> {
    if config.is_list() {
        return Err(ErrorObject::new(
            ErrorCode::INVALID_NETWORK_CONFIG,
            "the network configuration is a whole list: a plugin is given one entry of \"plugins\", with the list's name and cniVersion",
        ));
    }
    let name = config.network_name().map_err(ErrorObject::from)?;
    if config.plugin_type.is_some() {
        config.plugin_type().map_err(ErrorObject::from)?;
    }
    Ok(name)
}

/// Refuses a version that does not exist, that the plugin does not support, or that has no such command.
pub(super) fn version(
    command: Command,
    config: &PluginConfig,
    supported: &[Cow<'static, str>],
) -> Result<CniVersion, ErrorObject> {
    let text = config.cni_version.as_deref().unwrap_or(CniVersion::WHEN_ABSENT.as_str());
    if let Err(error @ VersionError::NotAVersion(_)) = config.version() {
        return Err(DecodeError::data(WHAT, "cniVersion", error.to_string()).into());
    }
    reconcile(text, supported)?;
    let incompatible = |msg: String, details: String| {
        Err(ErrorObject::new(ErrorCode::INCOMPATIBLE_CNI_VERSION, msg).with_details(details))
    };
    match config.version() {
        // Only a test plugin that claims such a version gets here.
        Err(error) => incompatible("incompatible CNI versions".to_owned(), error.to_string()),
        Ok(version) if !command.exists_in(version) => incompatible(
            format!("config version does not allow {command}"),
            format!("config is {text:?}, {command} exists from {:?}", command.first_version().as_str()),
        ),
        Ok(version) => Ok(version),
    }
}

/// The attachments of a GC request, which must be there and whole: without them everything would be stale.
pub(super) fn valid_attachments(config: &PluginConfig, stdin: &[u8]) -> Result<(), ErrorObject> {
    let list = config.valid_attachments().map_err(|error| invalid_config(error, stdin))?;
    let Some(list) = list else {
        return Err(ErrorObject::new(
            ErrorCode::INVALID_NETWORK_CONFIG,
            format!(
                "missing {VALID_ATTACHMENTS:?}: GC removes whatever is not listed, so the runtime must list what to keep"
            ),
        ));
    };
    let nameless = |valid: &Attachment| valid.container_id().is_empty() || valid.ifname().is_empty();
    match list.iter().position(nameless) {
        None => Ok(()),
        Some(index) => {
            let path = format!("{VALID_ATTACHMENTS}[{index}]");
            let message = "expected a containerID and an ifname: GC removes whatever is not listed";
            Err(invalid_config(DecodeError::data(WHAT, path, message), stdin))
        }
    }
}

/// A fault of a value that the configuration holds.
pub(super) fn invalid_config(error: DecodeError, stdin: &[u8]) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_NETWORK_CONFIG, error.located_in(stdin).to_string())
}
