//! Everything that a user sees: reports on stdout, all else on stderr.
//!
//! Commands make values; the words for them, plain or as JSON, are here. Nothing else in the crate writes.

mod attachments;
mod change;
mod conformance;
mod describe;
mod error;
pub(crate) mod help;
mod install;
mod list;
mod new;
mod operation;
mod problem;
mod style;
mod table;
mod trace;
mod validate;
mod version;

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::ser::PrettyFormatter;

pub(crate) use attachments::Attached;
pub(crate) use change::changes;
pub(crate) use conformance::Conformed;
pub(crate) use install::{Installed, Outcome, Warning};
pub(crate) use list::{Listing, Unread};
pub(crate) use new::Created;
pub(crate) use operation::{Collected, Done, Note, Unconsumed};
pub(crate) use style::Style;
pub(crate) use trace::TraceFormat;
pub(crate) use validate::Validations;
pub(crate) use version::{Group, Subject, Versions};

use crate::env::Env;
use crate::failure::Failure;
use crate::redact::Redaction;

/// The exit status of a command line that cannot be used; nothing was run.
const USAGE: u8 = 2;

/// What a command has found out, for stdout.
pub(crate) trait Report {
    /// Whether it is told to people, and may quote what is secret. Else it is data, to the byte.
    const QUOTES: bool = true;

    /// For people; empty if silence says enough.
    fn text(&self, style: Style) -> String;

    /// One JSON document.
    fn json(&self) -> String;
}

/// Text that another program reads as it is.
impl Report for Vec<u8> {
    const QUOTES: bool = false;

    fn text(&self, _: Style) -> String {
        String::from_utf8_lossy(self).into_owned()
    }

    fn json(&self) -> String {
        pretty(&self.text(Style::new(false)))
    }
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    /// Whether stdout gets JSON.
    json: bool,
    /// Whether each line on stderr is JSON.
    json_lines: bool,
    no_color: bool,
    /// What is not told.
    redaction: &'static Redaction,
}

impl Console {
    pub(crate) fn new(
        json: bool,
        trace: Option<TraceFormat>,
        env: Env<'_>,
        redaction: &'static Redaction,
    ) -> Self {
        let json_lines = json || trace == Some(TraceFormat::Json);
        Self { json, json_lines, no_color: env.no_color(), redaction }
    }

    /// What is not told.
    pub(crate) fn redaction(self) -> &'static Redaction {
        self.redaction
    }

    /// Writes a report on stdout.
    pub(crate) fn show<R: Report>(self, report: &R) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let mut text = if self.json { report.json() } else { report.text(self.style(stdout.is_terminal())) };
        if R::QUOTES {
            text = if self.json { self.redaction.json(&text) } else { self.redaction.text(&text) };
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::Output)
    }

    /// Tells of something that is odd, but stops nothing.
    pub(crate) fn warn(self, warning: impl Display) {
        self.tell("warning", Style::yellow, &warning);
    }

    /// Tells what one might not expect.
    pub(crate) fn note(self, note: &Note<'_>) {
        self.tell("note", Style::bold, note);
    }

    /// Tells why a command failed, and with which status to end.
    pub(crate) fn fail(self, failure: &Failure) -> ExitCode {
        match failure {
            Failure::Told => {}
            // Whoever reads has read enough.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            _ if self.json_lines => self.event(&error::event(failure)),
            _ => {
                self.tell("error", Style::red, &error::text(failure));
                if let Some(remedy) = error::remedy(failure) {
                    self.tell("hint", Style::bold, &remedy);
                }
            }
        }
        if matches!(failure, Failure::Usage(_)) { USAGE.into() } else { ExitCode::FAILURE }
    }

    fn tell(self, what: &'static str, paint: fn(Style, &str) -> String, message: &dyn Display) {
        if self.json_lines {
            return self.event(&Message { event: what, message: message.to_string() });
        }
        self.stderr(&format!("{} {message}\n", paint(self.style_of_stderr(), &format!("{what}:"))));
    }

    /// What a plugin has printed on its stderr.
    pub(crate) fn pass_on(self, lines: &[u8]) {
        self.stderr(&String::from_utf8_lossy(lines));
    }

    fn stderr(self, text: &str) {
        Self::write(&self.redaction.text(text));
    }

    fn event(self, event: &impl Serialize) {
        Self::write(&self.redaction.json(&json_line(event)));
    }

    /// Nobody can be told that stderr is closed.
    fn write(text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn style_of_stderr(self) -> Style {
        self.style(io::stderr().is_terminal())
    }

    fn style(self, is_terminal: bool) -> Style {
        Style::new(is_terminal && !self.no_color)
    }
}

/// A line on stderr, as JSON.
#[derive(Serialize)]
struct Message {
    event: &'static str,
    message: String,
}

/// What clap has to say: help and versions on stdout, errors on stderr.
pub(crate) fn clap(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS }
}

/// A document, indented as plugins print theirs.
fn pretty(value: &impl Serialize) -> String {
    let mut json = Vec::new();
    let formatter = PrettyFormatter::with_indent(b"    ");
    let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut json, formatter));
    // What is shown has text for keys, and JSON is UTF-8.
    written.ok().and_then(|()| String::from_utf8(json).ok()).unwrap_or_default()
}

/// Text of somebody else's, with nothing in it that a terminal would take for an order.
fn printable(text: &str) -> String {
    let escape = |letter: char| match letter {
        letter if letter.is_control() => letter.escape_default().collect(),
        letter => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

fn json_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}
