//! The process around a dispatch: streams, panics, exit status.
//!
//! stdout belongs to the protocol. Before a handler runs, file descriptor 1 is moved away and stderr is put in its
//! place, so that whatever a handler, a library or a child process prints there cannot get into the reply. It is never
//! moved back: what a library has buffered is still flushed to stderr when the process ends.

use std::fs::File;
use std::io;
use std::process::ExitCode;

use crate::call::Call;
use crate::dispatch::{self, Dispatcher};
use crate::plugin::Plugin;
use crate::reply::Reply;
use crate::types::CniVersion;

/// Answers the call that this process was started for. A plugin's `main` is this.
///
/// ```no_run
/// # use cni_skel::{AddRequest, AddResult, CniPlugin, DelRequest, Plugin, Result};
/// # #[derive(CniPlugin)]
/// # #[cni(name = "nothing")]
/// # struct Nothing;
/// # impl Plugin for Nothing {
/// #     fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> { Ok(req.result()) }
/// #     fn del(&self, _: &DelRequest<Self>) -> Result<()> { Ok(()) }
/// # }
/// fn main() -> std::process::ExitCode {
///     cni_skel::run(&Nothing)
/// }
/// ```
///
/// Run by hand, that is without `CNI_COMMAND`, it says who the plugin is, or what `--describe`, `--help` and `--version`
/// ask for.
///
/// The exit status is 0 for success and 1 for an error, which is then on stdout as an error object. The process ends
/// when `main` returns, so destructors run.
#[doc(alias = "PluginMain")]
#[doc(alias = "PluginMainFuncs")]
pub fn run<P: Plugin>(plugin: &P) -> ExitCode {
    run_with(|call| Dispatcher::new(plugin).respond(call))
}

/// Answers the process's call through a function, which may look at the call first and at the reply before it is written.
///
/// [`run`] is this with a [`Dispatcher`] and nothing else. What holds for it holds here: stdout is the reply's alone, and a
/// panic becomes an error object.
pub fn run_with(respond: impl FnOnce(Call) -> Reply) -> ExitCode {
    let stdout = match take_stdout() {
        Ok(stdout) => stdout,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(io::stderr(), "stdout cannot be used for the reply: {error}");
            return ExitCode::FAILURE;
        }
    };
    #[cfg(panic = "abort")]
    abort::reply_on_panic(&stdout);
    let reply = dispatch::caught(|| Ok(respond(Call::from_process())));
    let reply = reply.unwrap_or_else(|panic| Reply::error(panic.with_version(CniVersion::NEWEST)));
    reply.write(stdout, io::stderr())
}

/// Moves stdout to a descriptor of its own and puts stderr in its place.
fn take_stdout() -> io::Result<File> {
    let kept = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    if rustix::stdio::dup2_stdout(rustix::stdio::stderr()).is_err() {
        // No stderr: what a handler prints goes nowhere, but not into the reply.
        rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    }
    Ok(kept.into())
}

/// With `panic = "abort"` there is no unwinding to catch: the hook is the last code that runs.
#[cfg(panic = "abort")]
pub(crate) mod abort {
    use std::fs::File;
    use std::io;
    use std::sync::{Mutex, PoisonError};

    use crate::dispatch::panic_object;
    use crate::reply::Reply;
    use crate::types::CniVersion;

    /// The version of the call's configuration, which the hook has no other way to know.
    static VERSION: Mutex<Option<String>> = Mutex::new(None);

    /// Tells a panic from now on in this version.
    pub(crate) fn tell_in(version: Option<&str>) {
        *VERSION.lock().unwrap_or_else(PoisonError::into_inner) = version.map(str::to_owned);
    }

    pub(super) fn reply_on_panic(stdout: &File) {
        let Ok(stdout) = stdout.try_clone() else { return };
        let backtrace = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            backtrace(info);
            crate::delegate::give_back_all();
            // Not waited for: who panics may hold it.
            let version = VERSION.try_lock().ok().and_then(|version| version.clone());
            let version = version.unwrap_or_else(|| CniVersion::NEWEST.to_string());
            let error = panic_object(info.payload()).with_version(version);
            let _ = Reply::error(error).write(&stdout, io::sink());
            #[allow(
                clippy::exit,
                reason = "the alternative is SIGABRT, which a runtime cannot tell from a crash"
            )]
            std::process::exit(1);
        }));
    }
}
