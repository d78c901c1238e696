//! Where the values of keys stand in a text: in JSON, in JSON that is a string of JSON or quoted by an error, at any depth,
//! and also where it is cut off or no JSON at all.
//!
//! In quotes a quotation mark has a backslash before it, in quotes within quotes three, then seven: so many mark the
//! strings of a document, and what is a string of it has one more than twice as many.

use std::ops::Range;

use serde_json::Value as Json;

/// How many backslashes stand before the marks of a document's strings.
const LEVELS: [usize; 4] = [0, 1, 3, 7];

/// A value that stands behind a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// All of it; of a string, what is between the marks.
    range: Range<usize>,
    /// How many backslashes stand before a mark.
    level: usize,
    is_string: bool,
}

impl Value {
    /// The texts and numbers in it.
    pub(super) fn texts(&self, text: &str) -> Vec<String> {
        let raw = &text[self.range.clone()];
        let mut texts: Vec<String> = Vec::new();
        if self.is_string {
            texts.push(unescaped(raw, self.level));
            return texts;
        }
        let raw = unescape(raw, self.level.count_ones());
        match serde_json::from_str(&raw) {
            Ok(value) => collect(&value, &mut texts),
            // Cut off: what its strings are, as far as they go.
            Err(_) => texts.extend(strings(&raw).into_iter().map(|(_, text)| text)),
        }
        texts
    }

    /// Puts a word in its place.
    pub(super) fn replace(&self, text: &mut String, word: &str) {
        let mark = format!("{}\"", "\\".repeat(self.level));
        let word = if self.is_string { word.to_owned() } else { format!("{mark}{word}{mark}") };
        text.replace_range(self.range.clone(), &word);
    }
}

fn collect(value: &Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) => texts.push(text.clone()),
        Json::Number(number) => texts.push(number.to_string()),
        Json::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Json::Object(values) => values.values().for_each(|value| collect(value, texts)),
        Json::Bool(_) | Json::Null => {}
    }
}

/// The values of those keys, in their order. None is within another.
pub(super) fn values(text: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(mark) = next_mark(text, from, text.len()) {
        from = mark.at + 1;
        let level = mark.backslashes;
        if !LEVELS.contains(&level) {
            continue;
        }
        let Some(end) = end_of_string(text, from, level).filter(|end| end.is_whole) else { continue };
        let Some(start) = start_of_value(text, end.after, level) else { continue };
        if is_wanted(&unescaped(&text[from..end.content], level)) {
            found.extend(value_at(text, start, level));
        }
        from = found.last().map_or(from, |value: &Value| from.max(value.range.end));
    }
    found
}

/// The strings of a document that are no keys, each with its place, marks included.
pub(super) fn strings(json: &str) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = json[from..].find('"').map(|at| from + at) {
        let Some(end) = end_of_string(json, at + 1, 0) else { break };
        from = end.after;
        if start_of_value(json, end.after, 0).is_none() {
            found.push((at..end.after, unescaped(&json[at + 1..end.content], 0)));
        }
    }
    found
}

/// A quotation mark.
struct Mark {
    at: usize,
    /// How many backslashes stand before it.
    backslashes: usize,
}

fn next_mark(text: &str, from: usize, until: usize) -> Option<Mark> {
    let at = from + text[from..until].find('"')?;
    let backslashes = text[from..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
    Some(Mark { at, backslashes })
}

/// Where a string ends.
struct End {
    content: usize,
    after: usize,
    /// Whether it has a mark there, and not what surrounds the document.
    is_whole: bool,
}

/// The end of a string that starts here; none if the text ends before.
fn end_of_string(text: &str, start: usize, level: usize) -> Option<End> {
    let mut from = start;
    // A backslash of the string is this many in the text.
    let step = 2 * (level + 1);
    loop {
        let at = from + text[from..].find('"')?;
        let backslashes = text[start..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        match backslashes % step {
            inner if inner == step - 1 => from = at + 1,
            outer if outer == level => {
                return Some(End { content: at - level, after: at + 1, is_whole: true });
            }
            _ => return Some(End { content: at, after: at, is_whole: false }),
        }
    }
}

/// Where the value starts, if a colon follows.
fn start_of_value(text: &str, after: usize, level: usize) -> Option<usize> {
    let colon = after + space(&text[after..], level);
    text[colon..].starts_with(':').then(|| colon + 1 + space(&text[colon + 1..], level))
}

/// The length of the white space that a text starts with; in quotes, line ends are escaped.
fn space(text: &str, level: usize) -> usize {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let letters = trimmed.trim_start_matches('\\');
        let is_escape = level > 0 && letters.len() < trimmed.len() && letters.starts_with(['n', 'r', 't']);
        if !is_escape {
            return text.len() - trimmed.len();
        }
        rest = &letters[1..];
    }
}

fn value_at(text: &str, start: usize, level: usize) -> Option<Value> {
    let mark = format!("{}\"", "\\".repeat(level));
    let rest = &text[start..];
    if rest.starts_with(&mark) {
        let content = start + mark.len();
        let end = end_of_string(text, content, level).map_or(text.len(), |end| end.content);
        return Some(Value { range: content..end, level, is_string: true });
    }
    let length =
        if rest.starts_with(['{', '[']) { length_of_container(text, start, level) } else { scalar(rest)? };
    Some(Value { range: start..start + length, level, is_string: false })
}

/// How long an object or an array is, or what is left of it.
fn length_of_container(text: &str, start: usize, level: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(found) = text[at..].find(['{', '[', '}', ']', '"']).map(|found| at + found) {
        match text.as_bytes()[found] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return found + 1 - start;
                }
            }
            _ => {
                let backslashes = text[start..found].bytes().rev().take_while(|byte| *byte == b'\\').count();
                let end = (backslashes == level).then(|| end_of_string(text, found + 1, level)).flatten();
                match end {
                    Some(end) if end.is_whole => {
                        at = end.after;
                        continue;
                    }
                    Some(end) => return end.content - start,
                    // What surrounds the document ends, or all does.
                    None if backslashes == level => return text.len() - start,
                    None => return found - backslashes - start,
                }
            }
        }
        at = found + 1;
    }
    text.len() - start
}

/// How long a number or one of the three words is.
fn scalar(text: &str) -> Option<usize> {
    let word = ["true", "false", "null"].into_iter().find(|word| text.starts_with(word)).map(str::len);
    let number = text.find(|letter: char| !letter.is_ascii_digit() && !"+-.eE".contains(letter));
    let number = number.unwrap_or(text.len());
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    word.or((is_number && number > 0).then_some(number))
}

/// What a string says, of which this is what stands in the text.
fn unescaped(raw: &str, level: usize) -> String {
    unescape(raw, level.count_ones() + 1)
}

fn unescape(raw: &str, times: u32) -> String {
    let mut text = raw.to_owned();
    for _ in 0..times {
        // Rust has escapes that JSON has not; what is cut off may end within one.
        match serde_json::from_str(&format!("\"{text}\"")) {
            Ok(plain) => text = plain,
            Err(_) => break,
        }
    }
    text
}
