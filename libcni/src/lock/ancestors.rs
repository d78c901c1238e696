//! Who signed a lock file, and whether that process waits for this one: its parent, the parent's parent, and so on.
//!
//! An ID alone does not tell a process: in another PID namespace, or after a restart, the same number is another's. So a
//! signature has the start of the process and its PID namespace, too. Where `/proc` does not tell, nobody is an ancestor.

use std::fmt;
use std::fs;
use std::iter;
use std::os::unix::fs::MetadataExt as _;
use std::str::FromStr;

/// What tells a process from all others of this boot, and from most of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    process: u32,
    /// In clock ticks since the machine was started.
    start: u64,
    /// The inode of the PID namespace in which `process` is its ID.
    pid_namespace: u64,
}

impl Signature {
    /// That of this process, if `/proc` tells.
    pub(super) fn own() -> Option<Self> {
        let process = std::process::id();
        Some(Self { process, start: stat(process)?.start, pid_namespace: pid_namespace()? })
    }

    /// The process's ID, if it is of the namespace in which this process lives.
    pub(super) fn process(&self) -> Option<u32> {
        (pid_namespace() == Some(self.pid_namespace)).then_some(self.process)
    }

    /// Whether it is that of an ancestor of this process. This process is none of its own.
    pub(super) fn is_an_ancestors(&self) -> bool {
        let Some(process) = self.process() else { return false };
        let own = std::process::id();
        iter::successors(stat(own).map(|stat| (own, stat)), |(_, child)| {
            stat(child.parent).map(|stat| (child.parent, stat))
        })
        .skip(1)
        .any(|(ancestor, stat)| ancestor == process && stat.start == self.start)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.process, self.start, self.pid_namespace)
    }
}

impl FromStr for Signature {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
        let [process, start, pid_namespace] = numbers.map_err(|_| ())?[..] else { return Err(()) };
        Ok(Self { process: process.try_into().map_err(|_| ())?, start, pid_namespace })
    }
}

fn pid_namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|found| found.ino())
}

/// What `/proc` says about a process.
struct Stat {
    /// 0 for the first process of a namespace.
    parent: u32,
    start: u64,
}

/// `None` for a process that is gone, and for none at all.
fn stat(process: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything. The state, the third field of all, is the first one after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some(Stat { parent: fields.nth(1)?.parse().ok()?, start: fields.nth(17)?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(process: u32) -> Signature {
        Signature { process, start: stat(process).unwrap().start, pid_namespace: pid_namespace().unwrap() }
    }

    #[test]
    fn a_parent_is_an_ancestor_and_oneself_is_not() {
        let parent = of(std::os::unix::process::parent_id());
        assert!(parent.is_an_ancestors());
        assert_eq!(parent.process(), Some(parent.process));
        assert!(!Signature::own().unwrap().is_an_ancestors());
    }

    #[test]
    fn the_same_number_in_another_namespace_or_life_is_another_process() {
        let parent = of(std::os::unix::process::parent_id());
        let elsewhere = Signature { pid_namespace: parent.pid_namespace + 1, ..parent };
        assert!(!elsewhere.is_an_ancestors());
        assert_eq!(elsewhere.process(), None);
        assert!(!Signature { start: parent.start + 1, ..parent }.is_an_ancestors());
        assert!(!Signature { process: u32::MAX, ..parent }.is_an_ancestors());
    }

    #[test]
    fn what_is_written_is_read() {
        let own = Signature::own().unwrap();
        assert_eq!(own.to_string().parse(), Ok(own));
        for text in ["", "1", "1 2", "1 2 x", "-1 2 3", "4294967296 2 3", "1 2 3 4"] {
            assert_eq!(text.parse::<Signature>(), Err(()), "{text:?}");
        }
    }
}
