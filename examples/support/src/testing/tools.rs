//! Programs that only exist in a script.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::firewall::{Call, Outcome, Tools};

/// Firewall programs for a test without root: answers each call with the next line of a script, and keeps what was on
/// stdin.
///
/// ```
/// use plugin_support::firewall::iptables::{Change, Iptables};
/// use plugin_support::firewall::Family;
/// use plugin_support::testing::ScriptedTools;
///
/// let tools = ScriptedTools::new().success("iptables-restore --noflush --wait=60", "");
/// Iptables::new(&tools, Family::V4).commit(&Change::to("nat").chain("CNI-1"))?;
/// assert_eq!(tools.stdins(), ["*nat\n:CNI-1 - [0:0]\nCOMMIT\n"]);
/// tools.assert_done();
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ScriptedTools {
    script: RefCell<VecDeque<(String, Answer)>>,
    calls: RefCell<Vec<Call>>,
    /// Whether what is called beyond the script is not installed.
    is_bare: bool,
}

#[derive(Debug)]
enum Answer {
    Missing,
    Outcome(Outcome),
}

impl ScriptedTools {
    /// Programs that nobody may call yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A host that has none of the programs, whichever is called and how often.
    pub fn bare() -> Self {
        Self { is_bare: true, ..Self::default() }
    }

    /// Next, this command line succeeds and prints `stdout`.
    #[must_use]
    pub fn success(self, line: &str, stdout: &str) -> Self {
        self.answer(line, Answer::Outcome(outcome(true, stdout, "")))
    }

    /// Next, this command line fails with exit status 1 and prints `stderr`.
    #[must_use]
    pub fn failure(self, line: &str, stderr: &str) -> Self {
        self.answer(line, Answer::Outcome(outcome(false, "", stderr)))
    }

    /// Next, this program is called with any arguments and is not installed.
    #[must_use]
    pub fn missing(self, tool: &str) -> Self {
        self.answer(tool, Answer::Missing)
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.borrow().clone()
    }

    /// What was on the stdin of each call so far.
    pub fn stdins(&self) -> Vec<String> {
        self.calls.borrow().iter().map(|call| call.stdin.clone()).collect()
    }

    /// Asserts that every line of the script was called.
    ///
    /// # Panics
    ///
    /// If not.
    pub fn assert_done(&self) {
        let script = self.script.borrow();
        assert!(script.is_empty(), "not called: {script:?}");
    }

    fn answer(mut self, line: &str, answer: Answer) -> Self {
        self.script.get_mut().push_back((line.to_owned(), answer));
        self
    }
}

impl Tools for ScriptedTools {
    /// # Panics
    ///
    /// If the script has another call next, or none.
    fn run(&self, call: &Call) -> Result<Outcome> {
        self.calls.borrow_mut().push(call.clone());
        let missing =
            || Err(Error::ToolMissing { tool: call.tool.clone(), searched: vec!["/scripted".into()] });
        let Some((line, answer)) = self.script.borrow_mut().pop_front() else {
            assert!(self.is_bare, "called beyond the script: {call}");
            return missing();
        };
        match answer {
            Answer::Missing => {
                assert_eq!(call.tool, line, "another program was called: {call}");
                missing()
            }
            Answer::Outcome(outcome) => {
                assert_eq!(call.to_string(), line, "another command line was called");
                Ok(outcome)
            }
        }
    }
}

fn outcome(success: bool, stdout: &str, stderr: &str) -> Outcome {
    let status = if success { "exit status: 0" } else { "exit status: 1" };
    Outcome { success, status: status.into(), stdout: stdout.into(), stderr: stderr.into() }
}
