//! The one who runs networks: where plugins and cache are, and how long an operation may take.
//!
//! The operations themselves are in `ops`, one a file.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cni_invoke::{Environment, Exec, ProcessExec, SearchPath, Trace, Until};

use crate::cache::{Cache, DEFAULT_CACHE_DIR};
use crate::lock::Locks;
use crate::observe::{Observer, Warning};

/// Where runtimes keep plugins, unless told otherwise.
pub const DEFAULT_PLUGIN_DIR: &str = "/opt/cni/bin";

/// How long undoing an ADD may take, unless told otherwise: what failed in ADD may well hang in DEL.
const DEFAULT_UNDO_TIMEOUT: Duration = Duration::from_secs(60);

/// How many containers GC works on at a time, unless told otherwise.
const DEFAULT_PARALLELISM: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

/// Runs networks.
///
/// Clones are cheap and share everything. Any number of threads and processes may use one cache directory: operations on
/// one container are run in turn, and GC is run alone.
///
/// ```no_run
/// use std::time::Duration;
/// use libcni::{Client, Network, RuntimeConf};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder().plugin_dirs(["/opt/cni/bin"]).timeout(Duration::from_secs(60)).build();
/// let network = Network::load("/etc/cni/net.d", "pod-network")?;
/// let rt = RuntimeConf::new("c1", "eth0")?.with_netns("/run/netns/c1");
///
/// let result = client.add_or_undo(&network, &rt)?.into_add_result();
/// println!("{:?}", result.ips);
/// client.check(&network, &rt)?;
/// client.del(&network, &rt)?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "CNIConfig")]
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    /// The bound of the next operations, if they are not to have one of their own.
    until: Option<Until>,
    pub(crate) trace: Option<Trace>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) search_path: SearchPath,
    pub(crate) cache: Cache,
    pub(crate) locks: Locks,
    pub(crate) exec: Arc<dyn Exec>,
    pub(crate) environment: Environment,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) parallelism: NonZeroUsize,
    timeout: Option<Duration>,
}

impl Client {
    /// A client with Go's defaults, to be changed.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// The same client, whose operations all end by this bound instead of having the timeout of [`ClientBuilder::timeout`]
    /// each.
    ///
    /// A bound that has passed stays so. Clean up with the client that has none, or with a fresh one:
    ///
    /// ```
    /// use std::time::Duration;
    /// use libcni::{Client, Network, RuntimeConf, Until};
    ///
    /// fn add(client: &Client, network: &Network, rt: &RuntimeConf) -> Result<(), libcni::Error> {
    ///     let until = Until::timeout(Duration::from_secs(30));
    ///     if let Err(error) = client.with_until(until).add(network, rt) {
    ///         // `client` itself has no bound that has passed.
    ///         client.del(network, rt)?;
    ///         return Err(error);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn with_until(&self, until: Until) -> Self {
        Self { until: Some(until), ..self.clone() }
    }

    /// The same client, whose plugins are told that they are part of this trace.
    #[must_use]
    pub fn with_trace(&self, trace: Trace) -> Self {
        Self { trace: Some(trace), ..self.clone() }
    }

    /// The bound for undoing an ADD, whose own may have passed.
    pub(crate) fn until_of_undo(&self) -> Until {
        Until::timeout(self.shared.timeout.unwrap_or(DEFAULT_UNDO_TIMEOUT))
    }

    /// The cache directory.
    pub fn cache_dir(&self) -> &Path {
        self.shared.cache.dir()
    }

    /// The directories in which plugins are looked for.
    pub fn plugin_dirs(&self) -> &[PathBuf] {
        self.shared.search_path.dirs()
    }

    /// The bound of an operation that begins now.
    pub(crate) fn until(&self) -> Until {
        match (&self.until, self.shared.timeout) {
            (Some(until), _) => until.clone(),
            (None, Some(timeout)) => Until::timeout(timeout),
            (None, None) => Until::FOREVER,
        }
    }

    /// Tells the observer, if there is one, that another operation must come to its end first.
    pub(crate) fn warn_of_wait(&self, file: &Path, holder: Option<u32>) {
        self.warn(|| Warning::Waiting { file: file.to_owned(), holder });
    }

    /// Tells the observer, if there is one.
    pub(crate) fn warn(&self, warning: impl FnOnce() -> Warning) {
        if let Some(observer) = &self.shared.observer {
            observer.warning(&warning());
        }
    }
}

/// Makes a [`Client`].
#[derive(Clone, Debug, Default)]
pub struct ClientBuilder {
    plugin_dirs: Option<Vec<PathBuf>>,
    cache_dir: Option<PathBuf>,
    exec: Option<Arc<dyn Exec>>,
    environment: Option<Environment>,
    observer: Option<Arc<dyn Observer>>,
    parallelism: Option<NonZeroUsize>,
    timeout: Option<Duration>,
}

impl ClientBuilder {
    /// The directories to look for plugins in, in this order; [`DEFAULT_PLUGIN_DIR`] by default. Plugins get them as
    /// `CNI_PATH`. Empty and relative ones are not searched.
    #[must_use]
    pub fn plugin_dirs<P: Into<PathBuf>>(mut self, dirs: impl IntoIterator<Item = P>) -> Self {
        self.plugin_dirs = Some(dirs.into_iter().map(Into::into).collect());
        self
    }

    /// The cache directory; [`DEFAULT_CACHE_DIR`] by default, which is Go's. Results lie in its folder `results`.
    #[must_use]
    pub fn cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(dir.into());
        self
    }

    /// Finds and runs the plugins; [`ProcessExec`] by default. Tests give a scripted one.
    #[must_use]
    pub fn exec(mut self, exec: Arc<dyn Exec>) -> Self {
        self.exec = Some(exec);
        self
    }

    /// What plugins inherit; this process's environment at the time of [`ClientBuilder::build`] by default.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Is told of every run of a plugin, and of what is odd; nobody by default.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// How many containers GC may work on at a time; 4 by default.
    #[must_use]
    pub fn parallelism(mut self, containers: NonZeroUsize) -> Self {
        self.parallelism = Some(containers);
        self
    }

    /// How long each operation may take, its wait for others included; without bound by default. Plugins that run when it
    /// is over are killed.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The client.
    pub fn build(self) -> Client {
        let cache_dir = self.cache_dir.unwrap_or_else(|| DEFAULT_CACHE_DIR.into());
        let shared = Shared {
            search_path: SearchPath::new(self.plugin_dirs.unwrap_or_else(|| vec![DEFAULT_PLUGIN_DIR.into()])),
            locks: Locks::of(&cache_dir),
            cache: Cache::new(cache_dir),
            exec: self.exec.unwrap_or_else(|| Arc::new(ProcessExec::new())),
            environment: self.environment.unwrap_or_else(Environment::of_this_process),
            observer: self.observer,
            parallelism: self.parallelism.unwrap_or(DEFAULT_PARALLELISM),
            timeout: self.timeout,
        };
        Client { shared: Arc::new(shared), until: None, trace: None }
    }
}
