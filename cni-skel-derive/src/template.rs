//! The text of `details = "…{field}…"`: which fields it prints, and by which trait.
//!
//! Fields are named as in a format string's inline arguments, those of tuples by their number. Width and precision are
//! plain numbers.

use syn::{Error, LitStr, Result};

/// A text with places for fields.
pub(crate) struct Template {
    /// A format string whose arguments are called by [`argument`].
    pub(crate) format: LitStr,
    /// The fields that are printed, each once per trait.
    pub(crate) prints: Vec<Print>,
}

/// A field that is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    /// The field's place.
    pub(crate) field: usize,
    /// The trait of `core::fmt`.
    pub(crate) by: &'static str,
}

/// The name of a field's argument.
pub(crate) fn argument(field: usize) -> String {
    format!("__cni_{field}")
}

impl Template {
    /// Reads a text that may print these fields.
    pub(crate) fn parse(written: &LitStr, fields: &[String]) -> Result<Self> {
        let text = written.value();
        let mut format = String::new();
        let mut prints = Vec::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            format.push_str(before);
            if brace.starts_with("{{") || brace.starts_with("}}") {
                format.push_str(&brace[..2]);
                rest = &brace[2..];
                continue;
            }
            let Some((place, after)) = brace.strip_prefix('{').and_then(|inside| inside.split_once('}'))
            else {
                let brace = &brace[..1];
                return Err(fault(
                    written,
                    format!("`{brace}` stands alone: write `{brace}{brace}` for the character"),
                ));
            };
            let (name, spec) = place.split_once(':').map_or((place, ""), |(name, spec)| (name, spec));
            let field = find(written, name.trim(), fields)?;
            let print = Print { field, by: printed_by(written, spec.trim_end())? };
            if !prints.contains(&print) {
                prints.push(print);
            }
            let colon = if spec.is_empty() { "" } else { ":" };
            format.push_str(&format!("{{{}{colon}{spec}}}", argument(field)));
            rest = after;
        }
        format.push_str(rest);
        Ok(Self { format: LitStr::new(&format, written.span()), prints })
    }
}

fn find(written: &LitStr, name: &str, fields: &[String]) -> Result<usize> {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let found = fields.iter().position(|field| field == name);
    found.ok_or_else(|| {
        let problem = if name.is_empty() {
            "`{}` names no field".to_owned()
        } else {
            format!("there is no field `{name}`")
        };
        let known: Vec<String> = fields.iter().map(|field| format!("`{{{field}}}`")).collect();
        let expected = match known.as_slice() {
            [] => "there are none to print".to_owned(),
            [only] => format!("expected {only}"),
            _ => format!("expected one of {}", known.join(", ")),
        };
        fault(written, format!("{problem}: {expected}"))
    })
}

/// The trait that a format specification asks for.
fn printed_by(written: &LitStr, spec: &str) -> Result<&'static str> {
    // The fill comes before the alignment, and may be any character.
    let mut letters = spec.chars();
    let fill = letters.next();
    let rest = if fill.is_some() && letters.next().is_some_and(|c| matches!(c, '<' | '^' | '>')) {
        letters.as_str()
    } else {
        spec
    };
    if rest.contains(['$', '*']) {
        return Err(fault(written, "width and precision are plain numbers here".to_owned()));
    }
    Ok(match rest.chars().last() {
        Some('?') => "Debug",
        Some('b') => "Binary",
        Some('o') => "Octal",
        Some('x') => "LowerHex",
        Some('X') => "UpperHex",
        Some('e') => "LowerExp",
        Some('E') => "UpperExp",
        Some('p') => "Pointer",
        _ => "Display",
    })
}

fn fault(written: &LitStr, message: String) -> Error {
    Error::new_spanned(written, message)
}
