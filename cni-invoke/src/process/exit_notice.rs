//! A file descriptor that becomes readable when a child has ended, so that one `poll` sees that along with the pipes.
//!
//! It does not reap: until `Child::wait` the process ID is still the child's, and its group can be killed safely.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

pub(super) struct ExitNotice {
    fd: OwnedFd,
}

impl ExitNotice {
    pub(super) fn of(child: Pid) -> io::Result<Self> {
        match pidfd_open(child, PidfdFlags::empty()) {
            Ok(fd) => Ok(Self { fd }),
            // Linux before 5.3, or a seccomp filter from before then.
            Err(Errno::NOSYS | Errno::PERM) => Self::by_waiting(child),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a thread wait, which ends when the child does.
    fn by_waiting(child: Pid) -> io::Result<Self> {
        let (fd, held) = pipe_with(PipeFlags::CLOEXEC)?;
        thread::Builder::new().name("cni-wait".to_owned()).spawn(move || {
            while let Err(Errno::INTR) =
                waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            drop(held);
        })?;
        Ok(Self { fd })
    }
}

impl AsFd for ExitNotice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    /// Both ways must agree: nothing while the child lives, something once it is dead, and the child is not reaped.
    #[test]
    fn is_readable_exactly_when_the_child_has_ended() {
        for make in [ExitNotice::of, ExitNotice::by_waiting] {
            let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
            let notice = make(Pid::from_child(&child)).unwrap();
            let ended = |timeout: Option<&Timespec>| {
                poll(&mut [PollFd::new(&notice, PollFlags::IN)], timeout).unwrap() == 1
            };
            assert!(!ended(Some(&Timespec::default())));
            drop(child.stdin.take());
            assert!(ended(None));
            assert!(child.wait().unwrap().success());
        }
    }
}
