//! The processes that wait for this one, as far as one can tell: its parent, the parent's parent, and so on.

use std::fs;
use std::iter;

/// Whether a process is an ancestor of this one. This process is none of its own.
pub(super) fn has(process: u32) -> bool {
    iter::successors(Some(std::process::id()), |child| parent(*child))
        .skip(1)
        .any(|ancestor| ancestor == process)
}

/// The parent; `None` for the first process, and for one that is gone.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold anything. After it come the state and the parent.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    (parent != 0 && parent != process).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_an_ancestor_and_oneself_is_not() {
        assert!(has(std::os::unix::process::parent_id()));
        assert!(has(1) || parent(std::process::id()).is_none());
        assert!(!has(std::process::id()));
        assert!(!has(u32::MAX));
    }
}
