//! The console blocks of a page: what is typed and what is shown, running it, and comparing.
//!
//! Which plugins and files are there, and where, is each page's test's business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What stands for whatever a program prints: within a line for any text, as a line of its own for any lines.
const ANY: &str = "…";

/// A command of a page, and what the page says it prints.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) shown: String,
}

/// The commands of a page's console blocks, in order.
pub(crate) fn calls(page: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for (number, line) in block.lines().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                calls.push(Call { command: command.to_owned(), shown: String::new() });
                continue;
            }
            assert!(number > 0, "a block does not start with a command:\n{block}");
            let call = calls.last_mut().unwrap();
            match line.strip_prefix("> ") {
                Some(rest) if call.shown.is_empty() => call.command += &format!("\n{rest}"),
                _ => call.shown += &format!("{line}\n"),
            }
        }
    }
    calls
}

/// Whether what was printed is what is shown.
pub(crate) fn agrees(shown: &str, printed: &str) -> bool {
    let lines =
        |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    lines_agree(&lines(shown), &lines(printed))
}

fn lines_agree(shown: &[String], printed: &[String]) -> bool {
    match shown {
        [] => printed.is_empty(),
        [any, rest @ ..] if any == ANY => {
            (0..=printed.len()).any(|skipped| lines_agree(rest, &printed[skipped..]))
        }
        [line, rest @ ..] => match printed {
            [found, others @ ..] => line_agrees(line, found) && lines_agree(rest, others),
            [] => false,
        },
    }
}

fn line_agrees(shown: &str, printed: &str) -> bool {
    match shown.split_once(ANY) {
        None => shown == printed,
        Some((start, rest)) => printed.strip_prefix(start).is_some_and(|printed| {
            printed
                .char_indices()
                .map(|(at, _)| at)
                .chain([printed.len()])
                .any(|at| line_agrees(rest, &printed[at..]))
        }),
    }
}

/// A shell that a reader of a page might sit at: the directory stays from one command to the next.
#[derive(Debug)]
pub(super) struct Shell {
    dir: PathBuf,
    prelude: String,
    variables: Vec<(String, String)>,
}

impl Shell {
    /// A shell in a directory. What stands in the prelude is there in every command.
    pub(super) fn new(dir: &Path, prelude: &str) -> Self {
        Self { dir: dir.to_owned(), prelude: prelude.to_owned(), variables: Vec::new() }
    }

    pub(super) fn with(mut self, variable: &str, value: impl Into<String>) -> Self {
        self.variables.push((variable.to_owned(), value.into()));
        self
    }

    /// Runs a command; what it prints, both streams together.
    pub(super) fn run(&mut self, command: &str) -> String {
        let place = tempfile::NamedTempFile::new().unwrap();
        let script = format!("exec 2>&1\n{}\n{command}\npwd >\"$GUIDE_PLACE\"", self.prelude);
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(&self.dir).stdin(Stdio::null()).env_clear();
        shell.env("GUIDE_PLACE", place.path()).envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = shell.output().unwrap();
        let place = fs::read_to_string(place.path()).unwrap();
        if !place.is_empty() {
            self.dir = PathBuf::from(place.trim_end());
        }
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn blocks_are_read_with_continued_commands_and_compared_with_gaps() {
    let page = "text\n```console\n$ a |\n> b\nout 1\n> no command\n$ c\n```\n```sh\n$ d\n```\n";
    let calls = calls(page);
    let read: Vec<_> = calls.iter().map(|call| (call.command.as_str(), call.shown.as_str())).collect();
    assert_eq!(read, [("a |\nb", "out 1\n> no command\n"), ("c", "")]);
    assert!(agrees("a\n…\nb … d\n", "a\nx\ny\nb c d\n\n"));
    assert!(agrees("…\n", "") && agrees("", "\n") && agrees("a…", "a"));
    assert!(!agrees("a", "b") && !agrees("a\n…\nb", "a\nx") && !agrees("", "a") && !agrees("a …c", "a b"));
}
