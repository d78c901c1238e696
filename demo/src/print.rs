//! What a person sees: the only place that writes to the terminal.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a command line program; its output is its purpose"
)]

use std::io::IsTerminal;
use std::sync::Mutex;

use libcni::{Observer, PluginEnd, PluginRun, Warning};
use serde_json::Value;

/// The widest line of a request or reply that is not broken up.
const WIDTH: usize = 100;

/// A style of the terminal; nothing elsewhere.
fn styled(code: &str, text: &str) -> String {
    let plain = !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some();
    if plain { text.to_owned() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
}

pub(crate) fn title(text: &str) {
    println!("\n{}", styled("1;36", &format!("== {text}")));
}

pub(crate) fn say(text: &str) {
    println!("{text}");
}

pub(crate) fn changes(changes: &[String]) {
    println!("{}", styled("1", "the kernel now:"));
    if changes.is_empty() {
        println!("  as before");
    }
    for change in changes {
        println!("  {}", styled(if change.starts_with('+') { "32" } else { "31" }, change));
    }
}

pub(crate) fn failure(error: &dyn std::error::Error) {
    eprintln!("{} {error}", styled("1;31", "error:"));
    let mut source = error.source();
    while let Some(error) = source {
        eprintln!("  because: {error}");
        source = error.source();
    }
}

pub(crate) fn hint(text: &str) {
    eprintln!("hint: {text}");
}

/// Prints each run of a plugin: what it was given, and what it said.
#[derive(Default)]
pub(crate) struct Narrator {
    /// One run at a time, however many there are.
    turn: Mutex<()>,
}

impl Observer for Narrator {
    fn plugin_finished(&self, run: &PluginRun<'_>, end: &PluginEnd<'_>) {
        let _turn = self.turn.lock();
        let place = format!("{} {} ({} of {})", run.command, run.plugin, run.position + 1, run.plugins);
        let ms = end.duration.as_secs_f64() * 1e3;
        println!("\n{} {}", styled("1;33", &place), styled("2", &format!("{ms:.1} ms")));
        for (name, value) in
            run.environment.iter().filter(|(name, value)| is_protocol(name) && !value.is_empty())
        {
            println!("   {}={}", name.to_string_lossy(), value.to_string_lossy());
        }
        document("stdin", run.stdin);
        match (end.error, end.output) {
            (Some(error), _) => println!("   {}", styled("31", &error.to_string())),
            (None, Some(output)) if output.stdout.is_empty() => println!("   {}", styled("32", "success")),
            (None, Some(output)) => document(&styled("32", "stdout"), &output.stdout),
            (None, None) => {}
        }
    }

    fn warning(&self, warning: &Warning) {
        println!("{} {warning}", styled("33", "warning:"));
    }
}

fn is_protocol(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("CNI_") && name != "CNI_PATH")
}

/// Prints a document on one line if it fits, else one key a line.
fn document(what: &str, bytes: &[u8]) {
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else {
        println!("   {what} {}", String::from_utf8_lossy(bytes));
        return;
    };
    // It was printed as the result of the plugin before.
    if let Some(prev_result) = value.get_mut("prevResult") {
        *prev_result = Value::from("(the result above)");
    }
    let line = value.to_string();
    match &value {
        Value::Object(keys) if line.len() > WIDTH => {
            println!("   {what}");
            for (key, value) in keys {
                println!("     {key:?}: {value}");
            }
        }
        _ => println!("   {what} {line}"),
    }
}
