//! `iptables` and `ip6tables`: a change is one `iptables-restore --noflush`, a look one `iptables-save`.
//!
//! A table changes as a whole or not at all. Rules are lists of words; quoting them is done here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Call, Family, Tools};
use crate::error::{Error, Result};

/// How long to wait for another program that changes rules, in seconds. The legacy programs exclude each other by a
/// lock; the nf_tables ones ignore the option.
const WAIT: &str = "--wait=60";

/// The rules of one family.
#[derive(Clone, Copy, Debug)]
pub struct Iptables<'a> {
    tools: &'a dyn Tools,
    family: Family,
}

/// Changes to one table, for [`Iptables::commit`]. They happen in order, and all or none.
///
/// ```
/// use plugin_support::firewall::iptables::Change;
///
/// let change = Change::to("nat")
///     .chain("CNI-1")
///     .append("CNI-1", ["-m", "comment", "--comment", r#"name: "br""#, "-j", "MASQUERADE"])
///     .insert("POSTROUTING", ["-s", "10.1.0.5/32", "-j", "CNI-1"]);
/// assert_eq!(change.script()?, r#"*nat
/// :CNI-1 - [0:0]
/// -A CNI-1 -m comment --comment "name: \"br\"" -j MASQUERADE
/// -I POSTROUTING -s 10.1.0.5/32 -j CNI-1
/// COMMIT
/// "#);
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Change {
    table: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// Declares a chain, and empties it.
    Chain(String),
    /// Any other command, in words.
    Command(Vec<String>),
}

/// A table as it was when it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The chains by name, each with its rules in order: words without `-A` and the chain's name.
    pub chains: BTreeMap<String, Vec<Vec<String>>>,
}

impl<'a> Iptables<'a> {
    /// The rules of a family.
    pub fn new(tools: &'a dyn Tools, family: Family) -> Self {
        Self { tools, family }
    }

    /// Makes changes, all or none. An empty change runs nothing.
    ///
    /// # Errors
    ///
    /// If a word cannot be written as one, the program is missing, or it refuses; then the text has its stderr and the
    /// lines that this may mean.
    pub fn commit(&self, change: &Change) -> Result<()> {
        if change.lines.is_empty() {
            return Ok(());
        }
        let script = change.script()?;
        let call = Call::new(self.name("restore"), ["--noflush", WAIT]).stdin(script);
        let outcome = self.tools.run(&call)?;
        if outcome.success {
            return Ok(());
        }
        let mut error = call.failure(&outcome);
        let blamed = blamed(&call.stdin, &outcome.stderr);
        if let (Error::Tool { stderr, .. }, false) = (&mut error, blamed.is_empty()) {
            // Writing to a `String` cannot fail.
            let _ = write!(stderr, " (at {})", blamed.join(" or "));
        }
        Err(error)
    }

    /// Reads a table. One that the kernel has not made yet is empty.
    ///
    /// # Errors
    ///
    /// If the program is missing or fails, or the table has rules that it cannot show.
    pub fn table(&self, table: &str) -> Result<Table> {
        let call = Call::new(self.name("save"), ["--table", table]);
        let text = call.succeed(self.tools)?;
        Table::parse(&text)
            .map_err(|reason| Error::Decode { attempt: format!("failed to run {call}"), reason })
    }

    /// Reads some chains, one run of the program each: for a table that cannot be shown whole because others have put
    /// into it what iptables does not know. A chain that there is not, or that is such a one, is left out.
    ///
    /// # Errors
    ///
    /// If the program is missing or fails otherwise.
    pub fn chains(&self, table: &str, names: &[&str]) -> Result<Table> {
        let mut found = Table::default();
        for name in names {
            let call = Call::new(self.tool(), [WAIT, "--table", table, "--list-rules", name]);
            let outcome = self.tools.run(&call)?;
            if outcome.success {
                let rules = outcome.stdout.lines().filter_map(|line| line.strip_prefix("-A "));
                // Each begins with the chain's name.
                let rules = rules.map(|rule| words(rule).into_iter().skip(1).collect()).collect();
                found.chains.insert((*name).to_owned(), rules);
            } else if !["No chain", "is incompatible"].iter().any(|reason| outcome.stderr.contains(reason)) {
                return Err(call.failure(&outcome));
            }
        }
        Ok(found)
    }

    /// Whether the program works here and may be used.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(super) fn works(&self) -> Result<()> {
        Call::new(self.tool(), [WAIT, "--table", "nat", "--list-rules", "POSTROUTING"])
            .succeed(self.tools)?;
        Ok(())
    }

    fn tool(&self) -> &'static str {
        match self.family {
            Family::V4 => "iptables",
            Family::V6 => "ip6tables",
        }
    }

    fn name(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.tool())
    }
}

impl Change {
    /// No change yet to a table, such as `nat`.
    pub fn to(table: impl Into<String>) -> Self {
        Self { table: table.into(), lines: Vec::new() }
    }

    /// Makes a chain, or empties the one that there is.
    pub fn chain(mut self, name: impl Into<String>) -> Self {
        self.lines.push(Line::Chain(name.into()));
        self
    }

    /// Makes a chain. If there is one already, the change fails: it is someone else's by then.
    pub fn new_chain(self, name: &str) -> Self {
        self.command::<String>("-N", name, [])
    }

    /// Changes nothing, but fails unless a chain has this rule. Words that mean the same are the same.
    pub fn check<S: Into<String>>(self, chain: &str, rule: impl IntoIterator<Item = S>) -> Self {
        self.command("-C", chain, rule)
    }

    /// Adds a rule at the end of a chain.
    pub fn append<S: Into<String>>(self, chain: &str, rule: impl IntoIterator<Item = S>) -> Self {
        self.command("-A", chain, rule)
    }

    /// Adds a rule at the head of a chain.
    pub fn insert<S: Into<String>>(self, chain: &str, rule: impl IntoIterator<Item = S>) -> Self {
        self.command("-I", chain, rule)
    }

    /// Deletes the first such rule of a chain. If there is none, the change fails: see [`Iptables::table`].
    pub fn delete<S: Into<String>>(self, chain: &str, rule: impl IntoIterator<Item = S>) -> Self {
        self.command("-D", chain, rule)
    }

    /// Deletes a chain, which must be empty and in no rule by then; [`chain`](Self::chain) empties it.
    pub fn delete_chain(self, name: &str) -> Self {
        self.command::<String>("-X", name, [])
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The input for `iptables-restore`.
    ///
    /// # Errors
    ///
    /// If a word has a line break or another control character, which the format cannot express.
    pub fn script(&self) -> Result<String> {
        let mut script = format!("*{}\n", quoted(&self.table)?);
        for line in &self.lines {
            match line {
                Line::Chain(name) => {
                    script.push(':');
                    script.push_str(&quoted(name)?);
                    script.push_str(" - [0:0]");
                }
                Line::Command(words) => {
                    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect::<Result<_>>()?;
                    script.push_str(&words.join(" "));
                }
            }
            script.push('\n');
        }
        script.push_str("COMMIT\n");
        Ok(script)
    }

    fn command<S: Into<String>>(
        mut self,
        verb: &str,
        chain: &str,
        rule: impl IntoIterator<Item = S>,
    ) -> Self {
        let head = [verb.to_owned(), chain.to_owned()];
        self.lines.push(Line::Command(head.into_iter().chain(rule.into_iter().map(Into::into)).collect()));
        self
    }
}

impl Table {
    /// Whether there is a chain with this name.
    pub fn has_chain(&self, name: &str) -> bool {
        self.chains.contains_key(name)
    }

    /// The rules of a chain; none if there is no such chain.
    pub fn rules(&self, chain: &str) -> &[Vec<String>] {
        self.chains.get(chain).map_or(&[], Vec::as_slice)
    }

    /// Reads what `iptables-save` printed.
    fn parse(text: &str) -> Result<Self, String> {
        let mut table = Self::default();
        for line in text.lines() {
            if let Some(declaration) = line.strip_prefix(':') {
                let name = declaration.split(' ').next().unwrap_or(declaration).to_owned();
                table.chains.insert(name, Vec::new());
            } else if let Some(rule) = line.strip_prefix("-A ") {
                let mut words = words(rule).into_iter();
                let name = words.next().ok_or_else(|| format!("a rule without chain: {line:?}"))?;
                let rules = table.chains.get_mut(&name);
                rules.ok_or_else(|| format!("a rule of no chain: {line:?}"))?.push(words.collect());
            } else if line.starts_with('#') && line.contains("is incompatible") {
                // Someone has made the table, or rules in it, with nft; what follows is not all of it.
                return Err(line.trim_start_matches("# ").to_owned());
            }
        }
        Ok(table)
    }
}

/// The word after an option such as `--comment`, if the rule has it.
///
/// ```
/// use plugin_support::firewall::iptables::value_of;
/// let rule = ["-m", "comment", "--comment", "id: c1"].map(String::from);
/// assert_eq!(value_of(&rule, "--comment"), Some("id: c1"));
/// ```
pub fn value_of<'a>(rule: &'a [String], option: &str) -> Option<&'a str> {
    rule.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1].as_str())
}

/// A word as `iptables-restore` reads it back.
fn quoted(word: &str) -> Result<String> {
    if word.chars().any(char::is_control) {
        return Err(Error::Invalid(format!(
            "invalid word in an iptables rule: {word:?} has a control character"
        )));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:,/!+=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Ok(word.to_owned());
    }
    Ok(format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// The words of a line, as `iptables-save` quotes them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut in_quotes = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                in_quotes = !in_quotes;
                word.get_or_insert_default();
            }
            '\\' if in_quotes => word.get_or_insert_default().extend(chars.next()),
            ' ' if !in_quotes => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The lines of the script that `iptables-restore` may mean.
fn blamed(script: &str, stderr: &str) -> Vec<String> {
    let number = |after: &str| {
        let (_, rest) = stderr.split_once(after)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
    };
    let (first, last) = match (number("Error occurred at line: "), number("line ")) {
        // Targets are only looked up by the nf_tables variant when it has read the next line.
        (Some(last), _) => (last.saturating_sub(1), last),
        (None, Some(line)) => (line, line),
        (None, None) => return Vec::new(),
    };
    let lines = script.lines().enumerate().filter(|(index, line)| {
        (first..=last).contains(&(index + 1)) && !line.starts_with(['*', ':']) && *line != "COMMIT"
    });
    lines.map(|(_, line)| format!("{line:?}")).collect()
}

#[cfg(test)]
mod tests;
