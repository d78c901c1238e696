//! Collects mistakes, so that an author sees all of them at once. Decides nothing.

use std::cell::RefCell;
use std::fmt::Display;

use quote::ToTokens;
use syn::{Error, Result};

/// The mistakes found so far. [`Ctxt::check`] must be called, or the derive would swallow them.
pub(crate) struct Ctxt {
    /// `None` once checked.
    errors: RefCell<Option<Vec<Error>>>,
}

impl Ctxt {
    pub(crate) fn new() -> Self {
        Self { errors: RefCell::new(Some(Vec::new())) }
    }

    /// Reports a mistake and underlines the tokens.
    pub(crate) fn error_at(&self, tokens: impl ToTokens, message: impl Display) {
        self.error(Error::new_spanned(tokens, message));
    }

    /// Reports a mistake that syn or one of our own parsers found.
    pub(crate) fn error(&self, error: Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// All mistakes as one error, in the order in which they were found.
    pub(crate) fn check(self) -> Result<()> {
        let mut errors = self.errors.borrow_mut().take().into_iter().flatten();
        let Some(mut all) = errors.next() else { return Ok(()) };
        errors.for_each(|error| all.combine(error));
        Err(all)
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        // A bug of this crate, found by the first test that runs into it.
        if self.errors.borrow().is_some() && !std::thread::panicking() {
            panic!("the mistakes of a derive were not checked");
        }
    }
}
