//! `nft`: a change is one script on its stdin, which the kernel takes as a whole or not at all.

use serde_json::Value;

use super::{Call, Tools};
use crate::error::{Error, Result};

/// The rules of nftables, of all families.
#[derive(Clone, Copy, Debug)]
pub struct Nft<'a> {
    tools: &'a dyn Tools,
}

/// A table as it was when it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its chains, base chains among them.
    pub chains: Vec<Chain>,
    /// Its rules, in order within their chain.
    pub rules: Vec<Rule>,
}

/// A chain of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// Where packets enter, if it is a base chain: `prerouting`.
    pub hook: Option<String>,
    /// Its place among the hook's chains, if it is a base chain.
    pub priority: Option<i64>,
}

/// A rule of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The chain that it is in.
    pub chain: String,
    /// What names it when it is to be deleted.
    pub handle: u64,
    /// Its comment.
    pub comment: Option<String>,
    /// Its statements, as libnftables-json(5) describes them.
    pub expr: Value,
}

impl<'a> Nft<'a> {
    /// Over these tools.
    pub fn new(tools: &'a dyn Tools) -> Self {
        Self { tools }
    }

    /// Runs a script in the words of nft(8), all or nothing. An empty script runs nothing.
    ///
    /// # Errors
    ///
    /// If the program is missing or refuses; the text has its stderr, which shows the place in the script.
    pub fn run(&self, script: &str) -> Result<()> {
        if script.trim().is_empty() {
            return Ok(());
        }
        Call::new("nft", ["-f", "-"]).stdin(script).succeed(self.tools)?;
        Ok(())
    }

    /// Runs commands as libnftables-json(5) has them, all or nothing. No commands run nothing.
    ///
    /// Unlike in a [script](Self::run), names may have any character.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_json(&self, commands: &[Value]) -> Result<()> {
        if commands.is_empty() {
            return Ok(());
        }
        let document = serde_json::json!({"nftables": commands}).to_string();
        Call::new("nft", ["-j", "-f", "-"]).stdin(document).succeed(self.tools)?;
        Ok(())
    }

    /// Reads a table, `None` if there is none. `family` is `ip`, `ip6`, `inet`, `bridge`, ...
    ///
    /// # Errors
    ///
    /// If the program is missing, fails, or prints something else than expected.
    pub fn table(&self, family: &str, table: &str) -> Result<Option<Table>> {
        // Without -t (terse) would mean the elements of sets, too: there may be very many.
        let call = Call::new("nft", ["-j", "-t", "list", "table", family, table]);
        let outcome = self.tools.run(&call)?;
        if !outcome.success {
            let missing = outcome.stderr.contains("No such file or directory");
            return if missing { Ok(None) } else { Err(call.failure(&outcome)) };
        }
        let decode = |reason| Error::Decode { attempt: format!("failed to run {call}"), reason };
        let document = serde_json::from_str(&outcome.stdout).map_err(|error| decode(error.to_string()))?;
        Table::from_json(&document).map(Some).map_err(|reason| decode(reason.to_owned()))
    }

    /// Whether the program works here and may be used.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(super) fn works(&self) -> Result<()> {
        Call::new("nft", ["list", "tables"]).succeed(self.tools)?;
        Ok(())
    }
}

impl Table {
    /// The rules with this comment.
    pub fn commented<'t>(&'t self, comment: &'t str) -> impl Iterator<Item = &'t Rule> {
        self.rules.iter().filter(move |rule| rule.comment.as_deref() == Some(comment))
    }

    /// Whether there is a chain with this name.
    pub fn has_chain(&self, name: &str) -> bool {
        self.chains.iter().any(|chain| chain.name == name)
    }

    fn from_json(document: &Value) -> Result<Self, &'static str> {
        let objects =
            document.get("nftables").and_then(Value::as_array).ok_or("no list under \"nftables\"")?;
        let mut table = Self::default();
        let text = |object: &Value, key| object.get(key).and_then(Value::as_str).map(str::to_owned);
        for object in objects {
            if let Some(chain) = object.get("chain") {
                table.chains.push(Chain {
                    name: text(chain, "name").ok_or("a chain without name")?,
                    hook: text(chain, "hook"),
                    priority: chain.get("prio").and_then(Value::as_i64),
                });
            } else if let Some(rule) = object.get("rule") {
                table.rules.push(Rule {
                    chain: text(rule, "chain").ok_or("a rule without chain")?,
                    handle: rule.get("handle").and_then(Value::as_u64).ok_or("a rule without handle")?,
                    comment: text(rule, "comment"),
                    expr: rule.get("expr").cloned().unwrap_or_default(),
                });
            }
        }
        Ok(table)
    }
}

/// A text, such as a comment, as a script has it.
///
/// # Errors
///
/// If it has a quotation mark or a control character, which nft cannot express.
///
/// ```
/// use plugin_support::firewall::nft::quoted;
/// assert_eq!(quoted("net: br, id: c1")?, r#""net: br, id: c1""#);
/// assert!(quoted(r#"c1" accept #"#).is_err());
/// # Ok::<(), plugin_support::Error>(())
/// ```
pub fn quoted(text: &str) -> Result<String> {
    if text.contains(|c: char| c == '"' || c.is_control()) {
        return Err(Error::Invalid(format!(
            "invalid text for an nft script: {text:?} has a quotation mark or a control character"
        )));
    }
    Ok(format!("\"{text}\""))
}

#[cfg(test)]
mod tests;
