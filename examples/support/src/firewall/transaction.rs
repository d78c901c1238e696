//! Changes that depend on what is there. Neither iptables nor nft locks its rules between a look and a change, so that
//! somebody else may be faster; then the change fails, or does what it should not, unless one looks again.
//!
//! How often that is done is decided here; what is changed, by the caller.

use crate::error::{Error, Result};

/// How often a change is tried because somebody else changed something in between.
const ROUNDS: usize = 10;

/// Lets `plan` decide what to change of what there is, and changes it by `commit`. If that fails and there is something
/// else by then, it begins again.
///
/// `state` is what was read first, or can be left to `read`: `transact(read()?, read, plan, commit)`. What `plan` returns
/// beside the change is returned.
///
/// # Errors
///
/// What `read` and `plan` say; what `commit` says if nobody else has changed anything, or they do so time and again.
pub fn transact<S: PartialEq, C, T, E: From<Error>>(
    mut state: S,
    read: impl Fn() -> Result<S>,
    plan: impl Fn(&S) -> Result<(C, T), E>,
    commit: impl Fn(&C) -> Result<()>,
) -> Result<T, E> {
    for _ in 1..ROUNDS {
        let (change, told) = plan(&state)?;
        let Err(error) = commit(&change) else { return Ok(told) };
        let now = read()?;
        if now == state {
            return Err(error.into());
        }
        state = now;
    }
    let (change, told) = plan(&state)?;
    commit(&change)?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts up with each look, and refuses what was decided before `last`.
    fn counted(last: u32, stays_at: u32) -> (Result<u32>, u32) {
        let (looks, tries) = (Cell::new(0), Cell::new(0));
        let read = || {
            looks.set(stays_at.min(looks.get() + 1));
            Ok(looks.get())
        };
        let commit = |seen: &u32| {
            tries.set(tries.get() + 1);
            if *seen >= last { Ok(()) } else { Err(Error::Invalid(format!("refused at {seen}"))) }
        };
        (transact(0, read, |seen| Ok::<_, Error>((*seen, *seen)), commit), tries.get())
    }

    #[test]
    fn it_begins_again_while_somebody_else_is_faster() {
        assert!(matches!(counted(0, 9), (Ok(0), 1)));
        assert!(matches!(counted(3, 9), (Ok(3), 4)));
        assert!(matches!(counted(9, 9), (Ok(9), 10)));
    }

    #[test]
    fn an_error_that_nobody_else_has_caused_is_told_at_once() {
        let (told, tries) = counted(3, 0);
        assert_eq!((told.unwrap_err().to_string().as_str(), tries), ("refused at 0", 1));
        let (told, tries) = counted(5, 2);
        assert_eq!((told.unwrap_err().to_string().as_str(), tries), ("refused at 2", 3));
    }

    #[test]
    fn it_ends_if_there_is_no_end_of_changes() {
        let (told, tries) = counted(u32::MAX, u32::MAX);
        assert_eq!((told.unwrap_err().to_string().as_str(), tries), ("refused at 9", 10));
    }
}
