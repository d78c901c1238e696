//! Faults at calls of the kernel, injected by `strace` into a process as it is: at each one that a clean run makes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use cni_tests::need;

use super::call::{Call, Outcome};

/// The calls of the kernel, by the names that any machine has for them, that can fail, and how they do. Not among them are
/// those that only fail for a program that is wrong.
const FALLIBLE: [(&str, &str, bool); 27] = [
    // Whether the call changes something, or another process may notice it: before those a process is killed.
    ("openat", "EMFILE", true),
    ("read", "EIO", false),
    ("pread64", "EIO", false),
    ("statx", "EIO", false),
    ("getdents64", "EIO", false),
    ("write", "ENOSPC", true),
    ("pwrite64", "ENOSPC", true),
    ("rename", "ENOSPC", true),
    ("renameat", "ENOSPC", true),
    ("renameat2", "ENOSPC", true),
    ("link", "ENOSPC", true),
    ("linkat", "ENOSPC", true),
    ("unlink", "EIO", true),
    ("unlinkat", "EIO", true),
    ("mkdir", "ENOSPC", true),
    ("mkdirat", "ENOSPC", true),
    ("fchmod", "EPERM", true),
    ("ftruncate", "EIO", true),
    ("fsync", "EIO", true),
    ("flock", "ENOLCK", true),
    ("utimensat", "EPERM", true),
    ("pipe2", "EMFILE", true),
    ("clone3", "EAGAIN", true),
    ("vfork", "EAGAIN", true),
    ("pidfd_open", "EMFILE", false),
    ("ioctl", "EIO", false),
    ("ppoll", "ENOMEM", false),
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
    /// The call is not made, and fails with this.
    Error(&'static str),
    /// The call is not made, and the process is killed.
    Kill,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, number, kind } = self;
        match kind {
            Kind::Error(error) => write!(f, "{call} #{number} fails with {error}"),
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
        let names: Vec<_> = FALLIBLE.iter().map(|(name, _, _)| format!("?{name}")).collect();
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
        for (call, error, changes) in FALLIBLE {
            let [first, last] = [&loading, &all].map(|counts| counts.get(call).copied().unwrap_or_default());
            for number in first + 1..=last {
                faults.push(Fault { call, number, kind: Kind::Error(error) });
                faults.extend(changes.then_some(Fault { call, number, kind: Kind::Kill }));
            }
        }
        faults
    }

    /// Runs with a fault; nothing, if the run did not come to that call: how often a process waits is chance.
    pub(super) fn run(&self, call: &Call, fault: Fault) -> Option<Outcome> {
        let Fault { call: name, number, kind } = fault;
        let what = match kind {
            Kind::Error(error) => format!("error={error}"),
            Kind::Kill => "error=EIO:signal=KILL".to_owned(),
        };
        let trace = format!("trace={name}");
        let inject = format!("inject={name}:{what}:when={number}");
        let outcome = self.traced(call, &["-e", &trace, "-e", &inject]);
        let hit = match kind {
            Kind::Error(_) => fs::read_to_string(&self.log).unwrap().contains("(INJECTED)"),
            // strace ends as what it traces.
            Kind::Kill => outcome.status.signal() == Some(9),
        };
        hit.then_some(outcome)
    }

    fn traced(&self, call: &Call, options: &[&str]) -> Outcome {
        let log = self.log.to_str().unwrap();
        call.under(&[&["strace", "-qq", "-o", log], options].concat()).run()
    }
}
