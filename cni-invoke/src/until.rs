//! When a plugin must be done: a deadline, a caller that gives up, or both.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// When a plugin must be done. The default is no bound at all.
///
/// A deadline that has passed, or a token that is cancelled, stays so: clean up with a fresh one. See
/// [`RunError::NotExecuted`](crate::RunError::NotExecuted).
///
/// ```
/// use std::time::Duration;
/// use cni_invoke::{CancelToken, Until};
///
/// let token = CancelToken::new()?;
/// let until = Until::timeout(Duration::from_secs(30)).or_cancelled(&token);
/// token.cancel();
/// assert!(until.interruption().is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Until {
    deadline: Option<Instant>,
    token: Option<CancelToken>,
}

impl Until {
    /// No bound.
    pub const FOREVER: Self = Self { deadline: None, token: None };

    /// A point in time.
    pub fn deadline(at: Instant) -> Self {
        Self { deadline: Some(at), token: None }
    }

    /// A time from now on. One that is too long to be told from no bound is none.
    pub fn timeout(after: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(after), token: None }
    }

    /// The same bound, or as soon as the token is cancelled.
    #[must_use]
    pub fn or_cancelled(mut self, token: &CancelToken) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// Whether it is over, and why.
    pub fn interruption(&self) -> Option<Interruption> {
        if self.token.as_ref().is_some_and(CancelToken::is_cancelled) {
            Some(Interruption::Cancelled)
        } else if self.deadline.is_some_and(|at| at <= Instant::now()) {
            Some(Interruption::DeadlineExceeded)
        } else {
            None
        }
    }

    /// How much time is left; `None` without a deadline.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Waits for so long, or until it is over.
    pub(crate) fn sleep(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while self.interruption().is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let timeout = timespec(self.remaining().map_or(left, |remaining| remaining.min(left)));
            let cancelled = self.cancelled_fd();
            let mut fds: Vec<_> = cancelled.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            // Whatever ended the wait, the clock is looked at next.
            let _ = poll(&mut fds, Some(&timeout));
        }
    }

    /// What becomes readable when the token is cancelled.
    pub(crate) fn cancelled_fd(&self) -> Option<BorrowedFd<'_>> {
        self.token.as_ref().map(|token| token.shared.event.as_fd())
    }
}

/// Why a plugin was stopped, or not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Interruption {
    /// The caller cancelled.
    Cancelled,
    /// The deadline passed.
    DeadlineExceeded,
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the caller cancelled",
            Self::DeadlineExceeded => "the deadline passed",
        })
    }
}

/// Lets another thread stop what runs. Clones are the same token; a cancelled one stays cancelled.
#[derive(Clone)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

struct Shared {
    cancelled: AtomicBool,
    /// Readable from the moment of cancelling on, because nobody ever reads it; so one wakes any number of waiters.
    event: OwnedFd,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    ///
    /// # Errors
    ///
    /// When the process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { shared: Arc::new(Shared { cancelled: AtomicBool::new(false), event }) })
    }

    /// Stops everything that was given this token.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Release);
        // It can only fail because it is readable already, which is what is wanted.
        let _ = rustix::io::write(&self.shared.event, &1_u64.to_ne_bytes());
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// A time as `poll` takes it. It may come a little late, never early: nobody spins for the rest of a millisecond.
pub(crate) fn timespec(time: Duration) -> Timespec {
    // More seconds than fit are as good as no timeout.
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
