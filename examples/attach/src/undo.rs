//! What a failed ADD takes back.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use cni_skel::Result;

/// Steps that take back what was made so far, unless it is to be kept. They run in the order in which they were added.
#[derive(Default)]
pub struct Undo<'a> {
    steps: Vec<(&'static str, Step<'a>)>,
}

type Step<'a> = Box<dyn FnOnce() -> Result<()> + 'a>;

impl<'a> Undo<'a> {
    /// Adds a step, and what it does.
    pub fn by(&mut self, what: &'static str, step: impl FnOnce() -> Result<()> + 'a) {
        self.steps.push((what, Box::new(step)));
    }

    /// Keeps everything.
    pub fn keep(mut self) {
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

impl fmt::Debug for Undo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.steps.iter().map(|(what, _)| what)).finish()
    }
}

/// Tells a person what the runtime need not know, after the name of the program, which is the plugin's.
pub fn warn(text: &str) {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy();
    // Nobody to tell is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{name}: {text}");
}
