//! What a failed ADD takes back.

use std::io::Write as _;

use cni_skel::Result;

/// Steps that take back what was made so far, unless it is to be kept. They run in the order in which they were added.
#[derive(Default)]
pub(crate) struct Undo<'a> {
    steps: Vec<(&'static str, Step<'a>)>,
}

type Step<'a> = Box<dyn FnOnce() -> Result<()> + 'a>;

impl<'a> Undo<'a> {
    /// Adds a step, and what it does.
    pub(crate) fn by(&mut self, what: &'static str, step: impl FnOnce() -> Result<()> + 'a) {
        self.steps.push((what, Box::new(step)));
    }

    /// Keeps everything.
    pub(crate) fn keep(mut self) {
        self.steps.clear();
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        for (what, step) in self.steps.drain(..) {
            if let Err(error) = step() {
                // The failure that led here is told to the runtime; that something stays is for a person.
                warn(&format!("cannot {what} after a failed ADD: {}", error.to_object().msg));
            }
        }
    }
}

/// Tells a person what the runtime need not know.
pub(crate) fn warn(text: &str) {
    // Nobody to tell is no reason to fail.
    let _ = writeln!(std::io::stderr(), "bridge: {text}");
}
