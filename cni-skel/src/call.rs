//! What a runtime gives to a plugin: environment, stdin, and the machine it runs on.
//!
//! Everything that a dispatch reads comes from here, so that a test gives its own and nothing process-global is read.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use cni_invoke::Exec;

use crate::netns::NetnsId;
use crate::stdin::Stdin;

/// One call of a plugin.
///
/// [`Call::from_process`] is the real one; [`Call::new`] takes what a test gives.
///
/// ```
/// use cni_skel::Call;
/// let call = Call::new([("CNI_COMMAND", "VERSION")], r#"{"cniVersion":"1.0.0"}"#);
/// assert_eq!(call.var("CNI_COMMAND").unwrap(), "VERSION");
/// ```
#[derive(Debug)]
pub struct Call {
    pub(crate) env: Arc<Env>,
    /// The program's arguments, which the protocol has none of; `None` for the process's, which only a person gives.
    arguments: Option<Vec<OsString>>,
    pub(crate) stdin: Stdin,
    /// Runs delegates; `None` for processes. Made where a delegate is, so that a plugin without one has no code for it.
    pub(crate) exec: Option<Arc<dyn Exec>>,
    /// The namespace that the plugin itself runs in, if that can be told.
    pub(crate) own_netns: OnceCell<Option<NetnsId>>,
    /// Whether the process is there for this call alone, and so has its log.
    #[cfg(feature = "tracing")]
    pub(crate) is_process: bool,
}

/// The environment of a call.
pub(crate) type Env = Vec<(OsString, OsString)>;

impl Call {
    /// The call that this process was started for.
    pub fn from_process() -> Self {
        Self {
            env: Arc::new(std::env::vars_os().collect()),
            arguments: None,
            stdin: Stdin::process(),
            exec: None,
            own_netns: OnceCell::new(),
            #[cfg(feature = "tracing")]
            is_process: true,
        }
    }

    /// A call with this environment, complete, and this stdin. Delegates are found and run for real.
    pub fn new<K, V>(env: impl IntoIterator<Item = (K, V)>, stdin: impl Into<Vec<u8>>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        Self {
            env: Arc::new(env.into_iter().map(|(key, value)| (key.into(), value.into())).collect()),
            arguments: Some(Vec::new()),
            stdin: Stdin::bytes(stdin.into()),
            exec: None,
            own_netns: OnceCell::from(None),
            #[cfg(feature = "tracing")]
            is_process: false,
        }
    }

    /// The same call with arguments to the program. They count only where `CNI_COMMAND` is not set.
    ///
    /// ```
    /// use cni_skel::{Call, Dispatcher};
    /// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
    /// # #[derive(CniPlugin)]
    /// # #[cni(name = "nothing", version = "1.2.0")]
    /// # struct Nothing;
    /// # impl Plugin for Nothing {
    /// #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> { Ok(req.result()) }
    /// #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
    /// # }
    /// let call = Call::new([("PATH", "/bin")], "").with_arguments(["--version"]);
    /// assert_eq!(Dispatcher::new(&Nothing).respond(call).stdout, b"nothing 1.2.0\n");
    /// ```
    #[must_use]
    pub fn with_arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments = Some(arguments.into_iter().map(Into::into).collect());
        self
    }

    /// The same call with another way to find and run delegates.
    #[must_use]
    pub fn with_exec(mut self, exec: Arc<dyn Exec>) -> Self {
        self.exec = Some(exec);
        self
    }

    /// The same call by a plugin that runs in the namespace of this path.
    #[must_use]
    pub fn in_netns(mut self, path: &std::path::Path) -> Self {
        self.own_netns = OnceCell::from(NetnsId::of(path));
        self
    }

    /// A variable of the environment; the last one if it stands twice.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    /// The program's arguments.
    pub(crate) fn into_arguments(self) -> Vec<OsString> {
        self.arguments.unwrap_or_else(|| std::env::args_os().skip(1).collect())
    }

    /// The whole of stdin, read at the first call and kept.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is longer than [`MAX_STDIN_BYTES`](crate::MAX_STDIN_BYTES).
    pub fn stdin(&mut self) -> io::Result<&[u8]> {
        self.stdin.read().map(|bytes| bytes.as_slice())
    }

    /// The identity of the plugin's own namespace.
    pub(crate) fn own_netns(&self) -> Option<&NetnsId> {
        self.own_netns.get_or_init(NetnsId::own).as_ref()
    }
}
