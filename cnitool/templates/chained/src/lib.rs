//! Writes down which container has which addresses, for other programs on the node, and passes the result on.
//!
//! It runs after the plugin that has made the interface. [`records`] has the files; here is what each command does.

pub mod records;

use std::path::PathBuf;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, GcRequest,
    Plugin, Result, ResultExt, StatusRequest,
};

use self::records::{Record, Records};

/// This plugin's own configuration keys.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// Where the records are: a directory for each network, and in it a file for each attachment.
    #[serde(default = "default_dir")]
    pub dir: PathBuf,
}

/// Attachments do not survive a reboot, and neither does `/run`.
fn default_dir() -> PathBuf {
    "/run/my-plugin".into()
}

/// Writes down which container has which addresses.
#[derive(Debug, CniPlugin)]
#[cni(name = "my-plugin", versions = "0.3.1..=1.1.0", config = Config)]
pub struct MyPlugin;

#[cni_skel::plugin]
impl Plugin for MyPlugin {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let Some(prev_result) = req.prev_result() else {
            let msg =
                "a chained plugin needs a prevResult: it cannot be the first one of a network";
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, msg));
        };
        let record = Record::of(
            prev_result,
            req.container_id().as_str(),
            req.ifname().as_str(),
        );
        records(req).save(&record)?;
        // To change something inside the container: `req.netns().run(|| …)`.

        // Every key of prevResult is passed on, also those that nobody here knows. What this plugin adds goes on top.
        Ok(req.result())
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let found = records(req).find(req.container_id().as_str(), req.ifname().as_str())?;
        let found =
            found.ok_or_else(|| Error::message("the record of the attachment is missing"))?;
        // Later plugins of the chain may have added addresses.
        let now = Record::of(req.prev_result(), &found.container_id, &found.ifname).addresses;
        match found
            .addresses
            .iter()
            .find(|address| !now.contains(address))
        {
            Some(address) => Err(Error::message(format!(
                "{address} is on record, and prevResult does not have it"
            ))),
            None => Ok(()),
        }
    }

    // Called again, without a namespace, without a prevResult and for what was never attached, it succeeds.
    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        records(req).remove(req.container_id().as_str(), req.ifname().as_str())
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        let is_valid = |container_id: &str, ifname: &str| {
            req.valid_attachments()
                .iter()
                .any(|valid| valid.is(container_id, ifname))
        };
        records(req).retain(is_valid)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let probed = records(req).probe();
        probed
            .context("attachments cannot be written down")
            .code(ErrorCode::PLUGIN_NOT_AVAILABLE)
    }
}

/// The records of the request's network.
fn records(req: &cni_skel::Context<MyPlugin>) -> Records {
    Records::new(req.config().dir.join(req.network().as_str()))
}
