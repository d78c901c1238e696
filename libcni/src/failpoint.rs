//! Places at which a test may kill the process, to show that whatever is left behind can be cleaned up.
//!
//! Outside this crate's own unit tests nothing happens at them.

/// A place between two steps that a dying process may do only one of.
#[cfg(not(test))]
pub(crate) fn hit() {}

/// A place between two steps that a dying process may do only one of.
///
/// In a child process that a test has started for this, the one of the number in [`KILL_AT`] is its end.
#[cfg(test)]
pub(crate) fn hit() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static PASSED: AtomicUsize = AtomicUsize::new(0);
    let Some(at) = std::env::var_os(KILL_AT) else { return };
    let passed = PASSED.fetch_add(1, Ordering::SeqCst).to_string();
    if at.to_str() == Some(passed.as_str()) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal is on its way.
        loop {
            std::thread::park();
        }
    }
}

/// The environment variable with the number of the place, from 0.
#[cfg(test)]
pub(crate) const KILL_AT: &str = "LIBCNI_UNIT_TEST_KILL_AT";

#[cfg(test)]
mod tests;
