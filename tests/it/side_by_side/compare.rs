//! What two steps have in common, and what not.

use std::fmt;

/// What came of a call.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) label: String,
    pub(super) failure: Option<Failure>,
    /// The answer and what the host has, one fact a line, sorted.
    pub(super) lines: Vec<String>,
}

/// The words of an error object.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) msg: String,
    pub(super) details: String,
}

/// How two steps differ.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) label: String,
    /// What only Go's has.
    pub(super) go: Vec<String>,
    /// What only ours has.
    pub(super) ours: Vec<String>,
}

impl Difference {
    /// `None` if the steps are equal: of errors, ours has to contain Go's words.
    pub(super) fn between(mut go: Step, mut ours: Step) -> Option<Self> {
        let words = |key: &str, text: &str| format!("error.{key} = {text}");
        match (&go.failure, &ours.failure) {
            (Some(gos), Some(our)) => {
                for (key, gos, our) in [("msg", &gos.msg, &our.msg), ("details", &gos.details, &our.details)]
                {
                    if !our.contains(gos.as_str()) {
                        go.lines.push(words(key, gos));
                        ours.lines.push(words(key, our));
                    }
                }
            }
            (Some(gos), None) => go.lines.push(words("msg", &gos.msg)),
            (None, Some(our)) => ours.lines.push(words("msg", &our.msg)),
            (None, None) => {}
        }
        // Lines may be there more than once.
        let mut only_ours = ours.lines;
        let only_gos: Vec<String> = go
            .lines
            .into_iter()
            .filter(|line| match only_ours.iter().position(|other| other == line) {
                Some(at) => {
                    only_ours.remove(at);
                    false
                }
                None => true,
            })
            .collect();
        let differs = !only_gos.is_empty() || !only_ours.is_empty();
        differs.then_some(Self { label: go.label, go: only_gos, ours: only_ours })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.label)?;
        self.go.iter().try_for_each(|line| write!(f, "\n  Go:   {line}"))?;
        self.ours.iter().try_for_each(|line| write!(f, "\n  ours: {line}"))
    }
}
