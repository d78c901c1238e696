//! Faults at calls of the kernel, injected by `strace` into a process as it is: at each one that a clean run makes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use cni_tests::need;

use super::call::{Call, Outcome};

/// A call of the kernel that can fail, and the errors for which that matters.
struct Fallible {
    /// By the names that any machine has for it.
    call: &'static str,
    /// Whether it changes something, or another process may notice it: before those a process is killed.
    changes: bool,
    /// The errors that a command may fail with.
    errors: &'static [&'static str],
    /// The errors that no command may fail with: there is another way, or it only has to be tried again.
    overcome: &'static [&'static str],
}

const fn fallible(call: &'static str, errors: &'static [&'static str]) -> Fallible {
    Fallible { call, changes: true, errors, overcome: &[] }
}

impl Fallible {
    const fn overcome(self, overcome: &'static [&'static str]) -> Self {
        Self { overcome, ..self }
    }

    const fn changes_nothing(self) -> Self {
        Self { changes: false, ..self }
    }
}

/// Which errors, and why. Of each kind one, as the programs take them alike: EDQUOT is ENOSPC to them, EPERM is EACCES where
/// a path is opened. Not among them are errors that only a program that is wrong can get, and ENOENT: who is told that
/// there is no such file may believe it.
///
/// | error | what has happened |
/// | --- | --- |
/// | EIO | the disk fails, once or for ever |
/// | ENOSPC | the disk is full; a file system that writes late tells so at any time |
/// | EROFS | the file system has met with an error, and takes nothing more |
/// | EACCES | a security module, or a disk of another machine, does not let even root |
/// | EPERM | the file system has no modes, or none of its files may be changed |
/// | EMFILE, ENFILE | this process, the machine has no descriptor left |
/// | ENOMEM, EAGAIN | there is no memory, no further process |
/// | ENOLCK | the file system has no locks, or none left |
/// | ECHILD | the program was started with SIGCHLD ignored, so that nobody keeps how its children ended |
/// | EINTR | a signal came |
/// | EINVAL | the file system does not know this way of renaming |
/// | ENOSYS | an old kernel, or a filter that was made for one, does not know the call |
const FALLIBLE: [Fallible; 29] = [
    fallible("openat", &["EMFILE", "EACCES", "EIO"]),
    fallible("read", &["EIO"]).overcome(&["EINTR"]).changes_nothing(),
    fallible("pread64", &["EIO"]).overcome(&["EINTR"]).changes_nothing(),
    fallible("statx", &["EIO", "EACCES"]).changes_nothing(),
    fallible("getdents64", &["EIO", "ENOMEM"]).changes_nothing(),
    fallible("write", &["ENOSPC", "EIO"]).overcome(&["EINTR"]),
    fallible("pwrite64", &["ENOSPC", "EIO"]).overcome(&["EINTR"]),
    fallible("rename", &["ENOSPC", "EIO", "EROFS"]),
    fallible("renameat", &["ENOSPC", "EIO", "EROFS"]),
    fallible("renameat2", &["ENOSPC", "EIO", "EROFS"]).overcome(&["EINVAL"]),
    fallible("link", &["ENOSPC", "EIO", "EPERM"]),
    fallible("linkat", &["ENOSPC", "EIO", "EPERM"]),
    fallible("unlink", &["EIO", "EROFS"]),
    fallible("unlinkat", &["EIO", "EROFS"]),
    fallible("mkdir", &["ENOSPC", "EACCES", "EROFS"]),
    fallible("mkdirat", &["ENOSPC", "EACCES", "EROFS"]),
    fallible("fchmod", &["EPERM", "EIO"]),
    fallible("ftruncate", &["EIO", "ENOSPC"]).overcome(&["EINTR"]),
    fallible("fsync", &["EIO", "ENOSPC"]).overcome(&["EINTR"]),
    fallible("flock", &["ENOLCK", "EIO"]).overcome(&["EINTR"]),
    fallible("utimensat", &["EPERM", "EROFS"]),
    fallible("pipe2", &["EMFILE", "ENFILE"]),
    fallible("clone3", &["EAGAIN", "ENOMEM"]).overcome(&["ENOSYS"]),
    fallible("clone", &["EAGAIN", "ENOMEM"]),
    fallible("vfork", &["EAGAIN", "ENOMEM"]),
    fallible("pidfd_open", &["EMFILE", "ENOMEM"]).overcome(&["ENOSYS"]).changes_nothing(),
    fallible("ioctl", &["EIO"]).changes_nothing(),
    fallible("ppoll", &["ENOMEM"]).overcome(&["EINTR"]).changes_nothing(),
    fallible("wait4", &["ECHILD"]).overcome(&["EINTR"]).changes_nothing(),
];

/// The first call after those by which a program is loaded and started.
const STARTED: &str = "sigaltstack";

/// What happens at one call of the kernel, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) call: &'static str,
    pub(super) number: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The call is not made, and fails with this, which the command may fail for.
    Error(&'static str),
    /// The call is not made, and fails with this, which the command must overcome.
    Overcome(&'static str),
    /// The call is not made, and the process is killed.
    Kill,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, number, kind } = self;
        match kind {
            Kind::Error(error) | Kind::Overcome(error) => write!(f, "{call} #{number} fails with {error}"),
            Kind::Kill => write!(f, "killed at {call} #{number}"),
        }
    }
}

pub(super) struct Injector {
    log: PathBuf,
}

impl Injector {
    /// None, if the test must be skipped.
    pub(super) fn new(log: PathBuf) -> Option<Self> {
        let found = need::program("strace").and_then(|_| {
            let traced = Call::new("strace".as_ref(), &["-qq", "-o", "/dev/null", "true"]).run();
            traced.status.success().then_some(()).ok_or_else(|| "needs to be allowed to trace".to_owned())
        });
        found.map_err(need::skip).ok().map(|()| Self { log })
    }

    /// What the call of the program does when nothing fails, as `strace` writes it down with paths.
    pub(super) fn trace(&self, call: &Call, calls: &str) -> Vec<String> {
        let traced = self.traced(call, &["-y", "-s0", "-e", &format!("trace={STARTED},{calls}")]);
        assert!(traced.status.success(), "{traced:?}");
        let log = fs::read_to_string(&self.log).unwrap();
        let lines = log.lines().map(str::to_owned).skip_while(|line| !line.starts_with(STARTED));
        lines.filter(|line| !line.starts_with(STARTED)).collect()
    }

    /// Every fault that can be injected, from a clean run.
    pub(super) fn faults(&self, call: &Call) -> Vec<Fault> {
        let names: Vec<_> = FALLIBLE.iter().map(|it| format!("?{}", it.call)).collect();
        let traced = self.traced(call, &["-e", &format!("trace={STARTED},{}", names.join(","))]);
        assert!(traced.status.success(), "{traced:?}");
        let (mut loading, mut all) = (BTreeMap::<_, usize>::new(), BTreeMap::<_, usize>::new());
        let log = fs::read_to_string(&self.log).unwrap();
        let mut started = false;
        for name in log.lines().filter_map(|line| line.split_once('(')).map(|(name, _)| name) {
            started |= name == STARTED;
            for counts in [&mut all].into_iter().chain((!started).then_some(&mut loading)) {
                *counts.entry(name).or_default() += 1;
            }
        }
        let mut faults = Vec::new();
        for Fallible { call, changes, errors, overcome } in FALLIBLE {
            let [first, last] = [&loading, &all].map(|counts| counts.get(call).copied().unwrap_or_default());
            for number in first + 1..=last {
                let kinds = errors.iter().map(|error| Kind::Error(error));
                let kinds = kinds.chain(overcome.iter().map(|error| Kind::Overcome(error)));
                let kinds = kinds.chain(changes.then_some(Kind::Kill));
                faults.extend(kinds.map(|kind| Fault { call, number, kind }));
            }
        }
        faults
    }

    /// Runs with a fault; nothing, if the run did not come to that call: how often a process waits is chance.
    pub(super) fn run(&self, call: &Call, fault: Fault) -> Option<Outcome> {
        let Fault { call: name, number, kind } = fault;
        let what = match kind {
            Kind::Error(error) | Kind::Overcome(error) => format!("error={error}"),
            Kind::Kill => "error=EIO:signal=KILL".to_owned(),
        };
        let trace = format!("trace={name}");
        let inject = format!("inject={name}:{what}:when={number}");
        let outcome = self.traced(call, &["-e", &trace, "-e", &inject]);
        let hit = match kind {
            Kind::Error(_) | Kind::Overcome(_) => {
                fs::read_to_string(&self.log).unwrap().contains("(INJECTED)")
            }
            // strace ends as what it traces.
            Kind::Kill => outcome.status.signal() == Some(9),
        };
        hit.then_some(outcome)
    }

    /// Runs, and lets every call of this kind fail that names the path, also in the processes that are started; nothing, if there
    /// was none.
    pub(super) fn at(&self, call: &Call, path: &Path, name: &str, error: &str) -> Option<Outcome> {
        let inject = format!("inject={name}:error={error}");
        let trace = format!("trace={name}");
        let options = ["-f", "-P", path.to_str().unwrap(), "-e", &trace, "-e", &inject];
        let outcome = self.traced(call, &options);
        fs::read_to_string(&self.log).unwrap().contains("(INJECTED)").then_some(outcome)
    }

    fn traced(&self, call: &Call, options: &[&str]) -> Outcome {
        let log = self.log.to_str().unwrap();
        call.under(&[&["strace", "-qq", "-o", log], options].concat()).run()
    }
}
