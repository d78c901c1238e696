//! A folder of configuration files: which are looked at, in which order, and which network a name means.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::file::from_file;
use super::list::Faulty;
use super::problem::{Problem, SkipReason, Skipped, write_all};
use crate::network::Network;

/// Where runtimes keep their configuration files, unless told otherwise.
pub const DEFAULT_CONF_DIR: &str = "/etc/cni/net.d";

/// The endings of the files that are read, in the order in which they count.
const LISTS: &[&str] = &[".conflist"];
const SINGLES: &[&str] = &[".conf", ".json"];

/// What a folder of configuration files holds.
///
/// First come the files that end in `.conflist`, then those in `.conf` and `.json`; within each group the bytes of their
/// names decide. Of several files for one network the first counts. Directories are not read, but for the drop-in folder of
/// a network.
///
/// ```no_run
/// let scan = libcni::Scan::read("/etc/cni/net.d")?;
/// for network in &scan.networks {
///     println!("{}", network.name());
/// }
/// for skipped in &scan.skipped {
///     println!("{skipped}");
/// }
/// # Ok::<(), libcni::LoadError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scan {
    /// The folder.
    pub dir: PathBuf,
    /// The networks, in the order in which their files count.
    pub networks: Vec<Network>,
    /// The files that gave none, and why.
    pub skipped: Vec<Skipped>,
}

impl Scan {
    /// Reads a folder. One that does not exist is an empty one.
    ///
    /// # Errors
    ///
    /// When the folder cannot be listed. What is wrong with files in it is no error here.
    pub fn read(dir: impl AsRef<Path>) -> Result<Self, LoadError> {
        let dir = dir.as_ref();
        let mut scan = Self { dir: dir.to_owned(), networks: Vec::new(), skipped: Vec::new() };
        let mut found = files(dir).map_err(|source| LoadError::Dir { dir: dir.to_owned(), source })?;
        for extensions in [LISTS, SINGLES] {
            found.extract_if(.., |path| has_extension(path, extensions)).for_each(|path| scan.take(path));
        }
        scan.skipped.extend(found.into_iter().map(|file| Skipped { file, reason: SkipReason::OtherName }));
        Ok(scan)
    }

    fn take(&mut self, path: PathBuf) {
        let reason = match from_file(&path) {
            Err(Faulty { name, problems }) => SkipReason::Faulty { name, problems },
            Ok(network) => match self.networks.iter().find(|known| known.name == network.name) {
                None => return self.networks.push(network),
                Some(known) => SkipReason::Shadowed {
                    name: known.name.to_string(),
                    by: known.file.clone().unwrap_or_default(),
                },
            },
        };
        self.skipped.push(Skipped { file: path, reason });
    }

    /// The network of a name.
    ///
    /// # Errors
    ///
    /// When the folder has none: [`LoadError::Faulty`] if a faulty file is for it, else [`LoadError::NotFound`], or
    /// [`LoadError::NoConfigs`] if there is no file at all.
    pub fn network(self, name: &str) -> Result<Network, LoadError> {
        let Some(at) = self.networks.iter().position(|network| network.name == *name) else {
            return Err(self.missing(Some(name)));
        };
        Ok(self.into_network(at))
    }

    /// The network to use when nobody names one: the first whose version is supported.
    ///
    /// # Errors
    ///
    /// When there is none: [`LoadError::NoConfigs`] if there is no file at all, else [`LoadError::NotFound`].
    pub fn default_network(self) -> Result<Network, LoadError> {
        let mut scan = self;
        let is_unknown = |network: &mut Network| network.version().is_err();
        for network in scan.networks.extract_if(.., is_unknown) {
            scan.skipped.push(of_unknown_version(&network));
        }
        if scan.networks.is_empty() { Err(scan.missing(None)) } else { Ok(scan.into_network(0)) }
    }

    fn into_network(mut self, at: usize) -> Network {
        let network = self.networks.swap_remove(at);
        Network { skipped: self.skipped, ..network }
    }

    fn missing(self, name: Option<&str>) -> LoadError {
        let Self { dir, networks, skipped } = self;
        let is_candidate = |skipped: &Skipped| skipped.reason != SkipReason::OtherName;
        if networks.is_empty() && !skipped.iter().any(is_candidate) {
            return LoadError::NoConfigs { dir };
        }
        let claims = |skipped: &Skipped| match &skipped.reason {
            SkipReason::Faulty { name: claimed, .. } => name.is_some() && claimed.as_deref() == name,
            SkipReason::OtherName | SkipReason::Shadowed { .. } => false,
        };
        match skipped.iter().find(|skipped| claims(skipped)) {
            Some(faulty) => LoadError::Faulty { skipped: faulty.clone() },
            None => LoadError::NotFound {
                dir,
                name: name.map(str::to_owned),
                found: networks.iter().map(|network| network.name.to_string()).collect(),
                skipped,
            },
        }
    }
}

fn of_unknown_version(network: &Network) -> Skipped {
    let file = network.file.clone().unwrap_or_default();
    let message = network.version().map_or_else(|error| error.to_string(), |version| version.to_string());
    let problem = Problem::at(&network.bytes, "cniVersion", message).within(&file);
    let reason = SkipReason::Faulty { name: Some(network.name.to_string()), problems: vec![problem] };
    Skipped { file, reason }
}

impl Network {
    /// The network of a name in a folder of configuration files. [`Network::skipped`] has the files that gave none.
    ///
    /// # Errors
    ///
    /// As for [`Scan::read`] and [`Scan::network`].
    #[doc(alias = "LoadConfList")]
    #[doc(alias = "LoadNetworkConf")]
    pub fn load(dir: impl AsRef<Path>, name: &str) -> Result<Self, LoadError> {
        Scan::read(dir)?.network(name)
    }

    /// The first usable network of a folder of configuration files. [`Network::skipped`] has the files that gave none.
    ///
    /// # Errors
    ///
    /// As for [`Scan::read`] and [`Scan::default_network`].
    pub fn load_default(dir: impl AsRef<Path>) -> Result<Self, LoadError> {
        Scan::read(dir)?.default_network()
    }
}

/// The files of a folder whose names end in one of the extensions, such as `.conf`, ordered by the bytes of their names;
/// directories are left out. None, if there is no such folder.
///
/// What counts is what follows the last dot, that dot included: `a.conf.bak` has the extension `.bak`.
///
/// # Errors
///
/// When the folder cannot be listed.
#[doc(alias = "ConfFiles")]
pub fn conf_files(dir: impl AsRef<Path>, extensions: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = files(dir.as_ref())?;
    found.retain(|path| has_extension(path, extensions));
    Ok(found)
}

// Not `path.extension()`: of a name that starts with its only dot it is none.
fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let dot = name.iter().rposition(|byte| *byte == b'.').unwrap_or(name.len());
    extensions.iter().any(|extension| extension.as_bytes() == &name[dot..])
}

fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Of a link, the link itself counts: what it points to is seen when it is read.
        if !entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// A folder of configuration files has no network of that name, or none at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The folder cannot be listed.
    Dir {
        /// The folder.
        dir: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The only file for the network is faulty.
    Faulty {
        /// The file, and everything that is wrong with it.
        skipped: Skipped,
    },
    /// There is no file that could hold a configuration.
    NoConfigs {
        /// The folder.
        dir: PathBuf,
    },
    /// None of the files is for the network.
    NotFound {
        /// The folder.
        dir: PathBuf,
        /// The network's name; `None` if any one would have done.
        name: Option<String>,
        /// The names of the networks that the folder has.
        found: Vec<String>,
        /// The files that gave none, and why.
        skipped: Vec<Skipped>,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir { dir, .. } => write!(f, "cannot list the network configurations in {}", dir.display()),
            Self::Faulty { skipped } => skipped.fmt(f),
            // The start of these two is Go's, which programs look for.
            Self::NoConfigs { dir } => write!(f, "no net configurations found in {}", dir.display()),
            Self::NotFound { dir, name, found, skipped } => {
                match name {
                    Some(name) => write!(f, "no net configuration with name {name:?} in {}", dir.display())?,
                    None => write!(f, "no usable net configuration in {}", dir.display())?,
                }
                let names: Vec<_> = found.iter().map(|name| format!("{name:?}")).collect();
                if !names.is_empty() {
                    write!(f, ", which has {}", names.join(", "))?;
                }
                let faulty: Vec<_> =
                    skipped.iter().filter(|skipped| !skipped.problems().is_empty()).collect();
                if !faulty.is_empty() {
                    f.write_str("; skipped ")?;
                }
                write_all(f, faulty)
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Dir { source, .. } => Some(source),
            Self::Faulty { .. } | Self::NoConfigs { .. } | Self::NotFound { .. } => None,
        }
    }
}
