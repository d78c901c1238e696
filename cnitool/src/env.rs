//! What was meant: flags win over the environment, which wins over the defaults.
//!
//! The one place that reads the environment. A variable that is set to nothing counts as not set, as in Go's tool.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use libcni::cni_types::{CniArgs, ExtraKeys, InterfaceName, env};
use libcni::{DEFAULT_CACHE_DIR, DEFAULT_CONF_DIR, DEFAULT_PLUGIN_DIR, RuntimeConf, SearchPath};

use crate::cli::{Common, Target};
use crate::failure::{Fault, Usage};
use crate::netns;
use crate::redact::Redaction;

const CONF_DIR: &str = "NETCONFPATH";
const CAP_ARGS: &str = "CAP_ARGS";
const CACHE_DIR: &str = "CNI_CACHE_DIR";
const REDACT: &str = "CNI_REDACT";
const NO_COLOR: &str = "NO_COLOR";

/// The interface that is meant when nobody says which.
pub(crate) const DEFAULT_IFNAME: &str = "eth0";

/// The words of the command line, the program's name first.
pub(crate) fn words() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Where variables come from; tests give others.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a>(pub(crate) &'a dyn Fn(&str) -> Option<OsString>);

impl Env<'_> {
    /// The environment of this process.
    pub(crate) fn of_this_process() -> Self {
        Self(&|name| std::env::var_os(name))
    }

    /// Whether the user wants no colour, wherever the text goes: <https://no-color.org>.
    pub(crate) fn no_color(self) -> bool {
        self.find(NO_COLOR).is_some() || self.find("TERM").is_some_and(|terminal| terminal == "dumb")
    }

    fn find(self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The working directory as the shell calls it, if that is right, as Go has it: it may lead through links, and the
    /// container ID depends on it.
    fn working_dir(self) -> io::Result<PathBuf> {
        if let Some(named) = self.find("PWD").map(PathBuf::from)
            && named.is_absolute()
            && is_same(&named, Path::new(".")).unwrap_or(false)
        {
            return Ok(named);
        }
        std::env::current_dir()
    }
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (fs::metadata(one)?, fs::metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Where things are.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) conf_dir: PathBuf,
    pub(crate) plugin_dirs: Vec<PathBuf>,
    pub(crate) cache_dir: PathBuf,
    /// Looked at only by the commands that have to do with an interface.
    ifname: Option<Given>,
}

impl Settings {
    pub(crate) fn resolve(common: Common, env: Env<'_>) -> Result<Self, Usage> {
        let dir = |flag: Option<PathBuf>, variable, default: &str| {
            flag.or_else(|| env.find(variable).map(PathBuf::from)).unwrap_or_else(|| default.into())
        };
        let plugin_path = Given::find(common.plugin_path, "--plugin-path", env::PATH, env);
        let plugin_dirs = match plugin_path {
            Some(given) => given.search_path(env)?,
            None => vec![DEFAULT_PLUGIN_DIR.into()],
        };
        Ok(Self {
            conf_dir: dir(common.conf_dir, CONF_DIR, DEFAULT_CONF_DIR),
            plugin_dirs,
            cache_dir: dir(common.cache_dir, CACHE_DIR, DEFAULT_CACHE_DIR),
            ifname: Given::find(common.ifname.map(Into::into), "--ifname", env::IFNAME, env),
        })
    }

    /// The interface, if anybody says which.
    pub(crate) fn ifname(&self) -> Result<Option<InterfaceName>, Usage> {
        let Some(given) = &self.ifname else { return Ok(None) };
        InterfaceName::new(given.text()?).map(Some).map_err(|fault| given.is(Fault::Name(fault)))
    }
}

/// What is hidden: unlike other settings, flag and variable add to each other, so that neither gives away a secret of the other.
pub(crate) fn redaction(keys: &[String], env: Env<'_>) -> Redaction {
    let listed = env.find(REDACT).unwrap_or_default();
    let listed = listed.to_string_lossy();
    let listed = listed.split(',').map(str::trim).filter(|key| !key.is_empty());
    Redaction::new(keys.iter().cloned().chain(listed.map(str::to_owned)))
}

/// What plugins are told about a target.
pub(crate) fn runtime_conf(target: &Target, settings: &Settings, env: Env<'_>) -> Result<RuntimeConf, Usage> {
    let netns = absolute_netns(&target.netns, env)?;
    let ifname = settings.ifname()?.map_or_else(|| DEFAULT_IFNAME.to_owned(), InterfaceName::into_string);
    let args = args(target.args.clone(), env)?;
    let capability_args = capability_args(target.cap_args.clone(), env)?;
    // Both names keep their rules by now, so that nothing can be wrong with the whole.
    let rt = RuntimeConf::new(netns::container_id(&netns), ifname).map_err(|error| Usage {
        origin: "NETNS",
        fault: error.faults.into_iter().next().map_or(Fault::Empty, Fault::Name),
    })?;
    Ok(rt.with_netns(netns).with_args(args).with_capability_args(capability_args))
}

/// The pairs that plugins are given.
pub(crate) fn args(flag: Option<OsString>, env: Env<'_>) -> Result<CniArgs, Usage> {
    Given::find(flag, "--args", env::ARGS, env).map_or_else(|| Ok(CniArgs::new()), |given| given.pairs())
}

/// The values that are offered to plugins, by capability.
pub(crate) fn capability_args(flag: Option<OsString>, env: Env<'_>) -> Result<ExtraKeys, Usage> {
    Given::find(flag, "--cap-args", CAP_ARGS, env).map_or(Ok(ExtraKeys::default()), |given| given.object())
}

/// An attachment that GC is to leave alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Valid {
    pub(crate) container_id: String,
    /// None means every interface of the container.
    pub(crate) ifname: Option<InterfaceName>,
}

/// What texts like `/run/netns/blue:eth1` name. The container ID is that of the path alone.
pub(crate) fn valid(texts: &[OsString], settings: &Settings, env: Env<'_>) -> Result<Vec<Valid>, Usage> {
    let by_default = if texts.is_empty() { None } else { settings.ifname()? };
    let valid = |text: &OsString| {
        let given = Given { origin: "NETNS[:IFNAME]", value: text.clone() };
        let (netns, ifname) = match given.text()?.rsplit_once(':') {
            // A network namespace that is there must not be taken for another one: it would lose what it has.
            Some((netns, ifname)) if !ifname.contains('/') && !Path::new(text).exists() => {
                let ifname = InterfaceName::new(ifname).map_err(|fault| given.is(Fault::Name(fault)))?;
                (OsStr::new(netns), Some(ifname))
            }
            _ => (text.as_os_str(), by_default.clone()),
        };
        Ok(Valid { container_id: netns::container_id(&absolute_netns(netns, env)?), ifname })
    };
    texts.iter().map(valid).collect()
}

/// The absolute path of a network namespace.
fn absolute_netns(netns: &OsStr, env: Env<'_>) -> Result<String, Usage> {
    let given = Given { origin: "NETNS", value: netns.to_owned() };
    let path = given.text()?;
    if path.is_empty() {
        return Err(given.is(Fault::Empty));
    }
    if path.starts_with('/') {
        return Ok(netns::absolute(path, "/"));
    }
    let dir = env.working_dir().map_err(|error| given.is(Fault::WorkingDir(error)))?;
    let dir = dir.to_str().ok_or_else(|| given.is(Fault::NotUtf8(dir.clone().into())))?;
    Ok(netns::absolute(path, dir))
}

/// A value, and who says so.
#[derive(Debug)]
struct Given {
    origin: &'static str,
    value: OsString,
}

impl Given {
    fn find(
        flag: Option<OsString>,
        flag_name: &'static str,
        variable: &'static str,
        env: Env<'_>,
    ) -> Option<Self> {
        let by_flag = flag.map(|value| Self { origin: flag_name, value });
        by_flag.or_else(|| env.find(variable).map(|value| Self { origin: variable, value }))
    }

    fn is(&self, fault: Fault) -> Usage {
        Usage { origin: self.origin, fault }
    }

    fn text(&self) -> Result<&str, Usage> {
        self.value.to_str().ok_or_else(|| self.is(Fault::NotUtf8(self.value.clone())))
    }

    /// Directories; relative ones are of the working directory, since whoever types them means that.
    fn search_path(&self, env: Env<'_>) -> Result<Vec<PathBuf>, Usage> {
        let mut dirs = SearchPath::parse(&self.value).dirs().to_vec();
        // An empty element is left as it is, and is told in the error if the plugin is not found.
        for dir in dirs.iter_mut().filter(|dir| dir.is_relative() && !dir.as_os_str().is_empty()) {
            let base = env.working_dir().map_err(|error| self.is(Fault::WorkingDir(error)))?;
            *dir = base.join(&*dir);
        }
        Ok(dirs)
    }

    /// Pairs, each with a key and a value: an empty one of either is a slip of the keyboard, as Go's tool has it.
    fn pairs(&self) -> Result<CniArgs, Usage> {
        let text = self.text()?;
        let is_pair = |segment: &&str| {
            segment.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
        };
        let mut segments = text.split(';').filter(|segment| !segment.is_empty());
        let parsed = text.parse::<CniArgs>();
        match (segments.find(|segment| !is_pair(segment)), parsed) {
            (None, Ok(args)) => Ok(args),
            (bad, _) => Err(self.is(Fault::Pair(bad.unwrap_or(text).to_owned()))),
        }
    }

    /// A JSON object; `null` is an empty one, as in Go's tool.
    fn object(&self) -> Result<ExtraKeys, Usage> {
        let object = serde_json::from_str::<Option<ExtraKeys>>(self.text()?);
        object.map(Option::unwrap_or_default).map_err(|error| self.is(Fault::Capabilities(error)))
    }
}

#[cfg(test)]
mod tests;
