//! Changes sysctls and link settings of a container, after a plugin that has made the interface.
//!
//! What is changed of the interface is written down first, and DEL makes it as it was: the interface may be hardware that
//! goes back to the host. Sysctls go with the container's namespace.
//!
//! | module | decides |
//! | --- | --- |
//! | `config` | what is to be changed |
//! | `allowlist` | which sysctls may be |
//! | `sysctls` | which file a key means; writing and comparing |
//! | `link` | changing, restoring and comparing an interface |
//! | `backup` | what is remembered for DEL |
//!
//! # Where it leaves Go's plugin
//!
//! Keys, files and texts are Go's, and what either plugin has changed, the other restores. On purpose otherwise:
//!
//! | Go | here |
//! | --- | --- |
//! | An ADD that fails half way leaves what it has changed. | Everything is undone, sysctls included. |
//! | A second ADD takes tuned values for originals. | Originals stay as they were first seen. |
//! | Sysctls in `args.cni` alone make it panic. | They are set. |
//! | Sysctls are set in random order. | In that of the configuration. |
//! | The same sysctl in two notations is set twice. | Refused as a duplicate. |
//! | A key in the notation of sysctl(8) with a dot in an interface's name means another file. | It means that interface's. |
//! | DEL without namespace leaves the backup, and so does one whose backup is damaged. | The backup goes. |
//! | CHECK complains of tabs between fields, of addresses in upper case, and of links that others made promiscuous. | It does not. |
//! | CHECK cannot read what can only be written. | It passes over it. |
//! | GC does nothing, STATUS is always good. | Both work. Go's backups do not tell their network: GC leaves them. |
//! | The directory for backups has mode 0600. | 0700: others than root can use theirs. |

mod allowlist;
mod backup;
mod config;
mod link;
mod sysctls;

use std::io::Write as _;
use std::path::PathBuf;

use cni_skel::{
    AddRequest, AddResult, CheckRequest, CniPlugin, DelRequest, Error, ErrorCode, GcRequest, Plugin, Result,
    ResultExt, StatusRequest,
};
use plugin_support::atomic;
use plugin_support::kernel::Kernel;
use plugin_support::netlink::{Handle, Link};
use plugin_support::netns::NetNs;

use self::allowlist::Allowlist;
use self::backup::{Backup, Found, Originals, Saved};
use self::sysctls::Written;

pub use self::config::{Args, Config, LinkSettings, Runtime, Settings};
pub use self::sysctls::Setting;

/// The tuning plugin.
#[derive(Debug, CniPlugin)]
#[cni(name = "tuning", about = "changes sysctls and link settings of a container")]
#[cni(config = Config, runtime = Runtime, args = Args)]
pub struct Tuning {
    kernel: Kernel,
    allowlist: PathBuf,
}

impl Default for Tuning {
    /// On this machine.
    fn default() -> Self {
        Self::on(Kernel::default(), allowlist::default_path())
    }
}

/// What ADD has done so far.
#[derive(Debug, Default)]
struct Done {
    sysctls: Written,
    backup: Option<Saved>,
    link: Option<(Handle, Link, Originals)>,
}

#[cni_skel::plugin]
impl Plugin for Tuning {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let settings = Settings::new(req.config(), req.args(), req.runtime(), req.ifname().as_str())?;
        self.refuse_forbidden(&settings)?;
        if req.prev_result().is_none() {
            return Err(Error::new(ErrorCode::INVALID_NETWORK_CONFIG, "Required prevResult missing"));
        }
        let netns = self.kernel.netns(req.netns().path())?;
        let mut done = Done::default();
        match tune(req, &settings, &netns, &mut done) {
            Ok(result) => Ok(result),
            Err(error) => {
                done.undo(&netns);
                Err(error)
            }
        }
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        let backup = Backup::of(req.config().data_dir(), req.container_id().as_str(), req.ifname().as_str());
        let originals = match backup.find()? {
            // A link that leads nowhere reads so, and goes.
            Found::Nothing => return Ok(backup.remove()?),
            Found::Damaged => {
                warn(&format!("nothing is restored: {:?} is damaged", backup.path()));
                return Ok(backup.remove()?);
            }
            Found::Originals(originals) => originals,
        };
        // Without the namespace, or without the interface, there is nothing to restore.
        if let Some(netns) = req.netns().map(|netns| self.existing(netns.path())).transpose()?.flatten() {
            let netlink = netns.netlink()?;
            match netlink.link(req.ifname().as_str()) {
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
                Ok(link) => {
                    let errors = link::restore(&netlink, &link, &originals);
                    if !errors.is_empty() {
                        // A container must go all the same. The file stays: a next ADD of the interface needs it.
                        errors.iter().for_each(|error| warn(&error.to_object().msg));
                        return Ok(());
                    }
                }
            }
        }
        Ok(backup.remove()?)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let ifname = req.ifname().as_str();
        let settings = Settings::new(req.config(), req.args(), req.runtime(), ifname)?;
        let netns = self.kernel.netns(req.netns().path())?;
        for setting in &settings.sysctls {
            setting.check(&netns)?;
        }
        let link =
            netns.netlink()?.link(ifname).with_context(|| format!("Cannot find container link {ifname}"))?;
        link::check(&link, &settings.link)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        let can_work = || -> Result<()> {
            Allowlist::read(&self.allowlist)?;
            Ok(atomic::check_writable(req.config().data_dir())?)
        };
        can_work().context("no interface can be tuned").code(ErrorCode::PLUGIN_NOT_AVAILABLE)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        backup::collect(req.config().data_dir(), req.network().as_str(), req.valid_attachments())
    }
}

impl Tuning {
    /// A plugin on another kernel, and with another allowlist, for tests.
    pub fn on(kernel: Kernel, allowlist: impl Into<PathBuf>) -> Self {
        Self { kernel, allowlist: allowlist.into() }
    }

    fn refuse_forbidden(&self, settings: &Settings) -> Result<()> {
        if settings.sysctls.is_empty() {
            return Ok(());
        }
        let Some(allowlist) = Allowlist::read(&self.allowlist)? else { return Ok(()) };
        settings.sysctls.iter().try_for_each(|setting| allowlist.check(setting))
    }

    /// A namespace, if it is there still. What was mounted at its path may be gone, and the file be left.
    fn existing(&self, path: &std::path::Path) -> Result<Option<NetNs>> {
        use plugin_support::Error::{NotNetns, NotNsFile};
        match self.kernel.netns(path) {
            Ok(netns) => Ok(Some(netns)),
            Err(NotNetns { .. } | NotNsFile { .. }) => Ok(None),
            Err(error) if error.is_not_found() || error.is_not_a_directory() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Makes the changes, and takes note of each.
fn tune(req: &AddRequest<Tuning>, settings: &Settings, netns: &NetNs, done: &mut Done) -> Result<AddResult> {
    for setting in &settings.sysctls {
        done.sysctls.write(netns, setting)?;
    }
    let mut result = req.result();
    if settings.link.is_empty() {
        return Ok(result);
    }
    let ifname = req.ifname().as_str();
    let netlink = netns.netlink()?;
    let link = netlink.link(ifname).with_context(|| format!("failed to get {ifname:?}"))?;
    let originals = Originals::of(&link, &settings.link, req.network().as_str());
    let backup = Backup::of(req.config().data_dir(), req.container_id().as_str(), ifname);
    done.backup = Some(backup.save(originals.clone())?);
    let (netlink, link, _) = done.link.insert((netlink, link, originals));
    link::apply(netlink, link, &settings.link)?;

    let now = netlink.link_by_index(link.index)?;
    for interface in
        result.interfaces.iter_mut().filter(|found| found.name == ifname && found.sandbox.is_some())
    {
        if let (Some(_), Some(mac)) = (settings.link.mac, now.mac) {
            interface.mac = Some(mac.to_string());
        }
        if settings.link.mtu.is_some() && interface.mtu.is_some() {
            interface.mtu = Some(now.mtu.into());
        }
    }
    Ok(result)
}

impl Done {
    /// Undoes everything, the newest first; goes on past errors.
    fn undo(self, netns: &NetNs) {
        let mut errors = Vec::new();
        if let Some((netlink, link, originals)) = self.link {
            errors.extend(link::restore(&netlink, &link, &originals));
        }
        // What could not be restored now, DEL can restore by the backup.
        if errors.is_empty() {
            errors.extend(self.backup.and_then(|saved| saved.undo().err()));
        }
        errors.extend(self.sysctls.undo(netns).into_iter().map(Error::from));
        for error in errors {
            warn(&format!("cannot undo a failed ADD: {}", error.to_object().msg));
        }
    }
}

/// Tells a person of something that the runtime need not know.
fn warn(text: &str) {
    // Nobody to tell is no reason to fail.
    let _ = writeln!(std::io::stderr(), "tuning: {text}");
}

#[cfg(test)]
mod tests;
