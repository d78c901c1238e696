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
    /// Its sets.
    pub sets: Vec<Set>,
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

/// A set of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// Its elements, if they were asked for.
    pub elements: Vec<Element>,
}

/// An element of a [`Set`].
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// What it stands for, as libnftables-json(5) describes it: a text, mostly.
    pub value: Value,
    /// Its comment.
    pub comment: Option<String>,
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

    /// Whether a script would run. Nothing is changed.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn would_run(&self, script: &str) -> Result<()> {
        Call::new("nft", ["--check", "-f", "-"]).stdin(script).succeed(self.tools)?;
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

    /// Reads a table, `None` if there is none. `family` is `ip`, `ip6`, `inet`, `bridge`, ... Of sets, only the names are
    /// read: there may be very many elements.
    ///
    /// # Errors
    ///
    /// If the program is missing, fails, or prints something else than expected.
    pub fn table(&self, family: &str, table: &str) -> Result<Option<Table>> {
        self.read(&Call::new("nft", ["-j", "-t", "list", "table", family, table]))
    }

    /// The same with the elements of sets.
    ///
    /// # Errors
    ///
    /// As [`table`](Self::table).
    pub fn table_and_elements(&self, family: &str, table: &str) -> Result<Option<Table>> {
        self.read(&Call::new("nft", ["-j", "list", "table", family, table]))
    }

    /// The base chains of a hook that drop what no rule of theirs accepts: `inet filter forward`.
    ///
    /// # Errors
    ///
    /// If the program is missing, fails, or prints something else than expected.
    pub fn dropping(&self, hook: &str) -> Result<Vec<String>> {
        let call = Call::new("nft", ["-j", "list", "chains"]);
        let document = decoded(&call, &call.succeed(self.tools)?)?;
        let chains = document.get("nftables").and_then(Value::as_array).into_iter().flatten();
        let dropping = chains.filter_map(|object| {
            let text = |key| object.get("chain")?.get(key)?.as_str();
            let is_meant = text("hook") == Some(hook) && text("policy") == Some("drop");
            is_meant.then(|| Some(format!("{} {} {}", text("family")?, text("table")?, text("name")?)))?
        });
        Ok(dropping.collect())
    }

    fn read(&self, call: &Call) -> Result<Option<Table>> {
        let outcome = self.tools.run(call)?;
        if !outcome.success {
            let missing = outcome.stderr.contains("No such file or directory");
            return if missing { Ok(None) } else { Err(call.failure(&outcome)) };
        }
        let table = Table::from_json(&decoded(call, &outcome.stdout)?);
        table.map(Some).map_err(|reason| undecoded(call, reason.to_owned()))
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

    /// The set with this name.
    pub fn set(&self, name: &str) -> Option<&Set> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// Whether there is a chain with this name.
    pub fn has_chain(&self, name: &str) -> bool {
        self.chains.iter().any(|chain| chain.name == name)
    }

    /// Whether packets enter a chain at this hook.
    pub fn is_hooked(&self, chain: &str, hook: &str) -> bool {
        self.chains.iter().any(|found| found.name == chain && found.hook.as_deref() == Some(hook))
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
            } else if let Some(set) = object.get("set") {
                let elements = set.get("elem").and_then(Value::as_array).into_iter().flatten();
                table.sets.push(Set {
                    name: text(set, "name").ok_or("a set without name")?,
                    elements: elements.map(Element::from_json).collect(),
                });
            }
        }
        Ok(table)
    }
}

impl Rule {
    /// Whether this is one of its statements.
    pub fn has(&self, statement: &Value) -> bool {
        self.expr.as_array().is_some_and(|statements| statements.contains(statement))
    }
}

impl Element {
    /// What has a comment is an object, the value in it; what has none is the value.
    fn from_json(json: &Value) -> Self {
        let Some(object) = json.get("elem") else { return Self { value: json.clone(), comment: None } };
        let comment = object.get("comment").and_then(Value::as_str).map(str::to_owned);
        Self { value: object.get("val").cloned().unwrap_or_default(), comment }
    }
}

fn decoded(call: &Call, stdout: &str) -> Result<Value> {
    serde_json::from_str(stdout).map_err(|error| undecoded(call, error.to_string()))
}

fn undecoded(call: &Call, reason: String) -> Error {
    Error::Decode { attempt: format!("failed to run {call}"), reason }
}

/// A command for [`Nft::run_json`] about what is in a table, which is a family and a name: `add` a `rule` with these fields.
///
/// ```
/// use plugin_support::firewall::nft::command;
/// use serde_json::json;
/// let flush = command("flush", "chain", ["inet", "filter"], json!({"name": "input"}));
/// assert_eq!(flush, json!({"flush": {"chain": {"family": "inet", "table": "filter", "name": "input"}}}));
/// ```
pub fn command(verb: &str, what: &str, table: [&str; 2], mut fields: Value) -> Value {
    let [family, table] = table;
    fields["family"] = family.into();
    fields["table"] = table.into();
    serde_json::json!({verb: {what: fields}})
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
