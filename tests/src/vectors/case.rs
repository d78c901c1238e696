//! Reads vector files: one JSON array of cases per file, in the format that `tests/vectors/README.md` describes.
//!
//! Decides nothing about right or wrong; it only turns text into [`Case`]s and refuses files that are not of the format.

use std::path::Path;

use super::json::Json;

/// The vector files, in the order in which they are reported.
pub const FILES: [&str; 10] = [
    "results_convert",
    "results_parse",
    "prev_result",
    "cni_args",
    "validate",
    "versions",
    "skel_dispatch",
    "conflist",
    "libcni_exec",
    "plugin_err",
];

/// One recorded case: what went in, and what the Go reference did.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file the case stands in, without `.json`.
    pub file: &'static str,
    /// Unique within its file.
    pub name: String,
    /// What went in.
    pub input: Json,
    /// What Go 1.27 did.
    pub expect: Json,
    /// What Go did with its older JSON package, where that differs.
    pub expect_v1: Option<Json>,
    /// Whether the text in `expect` is that of Go's standard library, so that its wording means nothing.
    pub stdlib_text: bool,
}

impl Case {
    /// The text at `key` of the input; from `<key>_b64` if it is not UTF-8 (then as bytes).
    pub fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        match self.input.field(key) {
            Some(Json::String(text)) => Some(text.clone().into_bytes()),
            _ => self.input.field(&format!("{key}_b64"))?.as_str().and_then(decode_base64),
        }
    }

    /// The string at `key` of the input.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.input.field(key)?.as_str()
    }

    /// The case with `${name}` replaced by `value` in inputs and expectations.
    #[must_use]
    pub fn with_placeholder(mut self, name: &str, value: &str) -> Self {
        let mark = format!("${{{name}}}");
        let change = |text: &str| text.replace(&mark, value);
        self.input = self.input.map_strings(&change);
        self.expect = self.expect.map_strings(&change);
        self.expect_v1 = self.expect_v1.map(|expect| expect.map_strings(&change));
        self
    }
}

/// Reads `<folder>/<file>.json`. `None` if there is no such file.
///
/// # Errors
/// A file that cannot be read, is not of the format, or has two cases of one name; the message says where.
pub fn load(folder: &Path, file: &'static str) -> Result<Option<Vec<Case>>, String> {
    let path = folder.join(format!("{file}.json"));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("reading {}: {error}", path.display())),
    };
    parse(file, &text).map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the text of a vector file.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &'static str, text: &str) -> Result<Vec<Case>, String> {
    let document = Json::parse(text).map_err(|error| error.to_string())?;
    let items = document.as_array().ok_or("expected an array of cases")?;
    let mut names = std::collections::HashSet::new();
    let mut cases = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let case = case(file, item).map_err(|error| format!("case {index}: {error}"))?;
        if !names.insert(case.name.clone()) {
            return Err(format!("case {index}: a second case is named {:?}", case.name));
        }
        cases.push(case);
    }
    Ok(cases)
}

fn case(file: &'static str, item: &Json) -> Result<Case, String> {
    let object = |key: &str| match item.field(key) {
        Some(value @ Json::Object(_)) => Ok(value.clone()),
        _ => Err(format!("expected an object {key:?}")),
    };
    for (key, _) in item.as_object().ok_or("expected an object")? {
        if !["name", "family", "go_stdlib_text", "input", "expect", "expect_jsonv1"].contains(&key.as_str()) {
            return Err(format!("unknown key {key:?}"));
        }
    }
    Ok(Case {
        file,
        name: item.field("name").and_then(Json::as_str).ok_or("expected a string \"name\"")?.to_owned(),
        input: object("input")?,
        expect: object("expect")?,
        expect_v1: item.field("expect_jsonv1").map(|_| object("expect_jsonv1")).transpose()?,
        stdlib_text: item.field("go_stdlib_text") == Some(&Json::Bool(true)),
    })
}

/// Decodes standard base64 with padding.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits.bytes() {
        bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|known| *known == digit)?).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in
            [("", &b""[..]), ("YQ==", b"a"), ("YWI=", b"ab"), ("YWJj", b"abc"), ("//79", b"\xff\xfe\xfd")]
        {
            assert_eq!(decode_base64(text).unwrap(), bytes);
        }
        for text in ["YQ", "Y===", "Y*==", "YQ==YQ=="] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
    }

    #[test]
    fn a_case_is_read_with_its_flags_and_placeholders() {
        let text = r#"[{"name":"a","family":"f","go_stdlib_text":true,
            "input":{"x":"${TMP}/y","raw_b64":"/w=="},"expect":{"error":"no ${TMP}"}}]"#;
        let case = parse("validate", text).unwrap().remove(0).with_placeholder("TMP", "/t");
        assert!(case.stdlib_text);
        assert_eq!(case.text("x"), Some("/t/y"));
        assert_eq!(case.bytes("raw"), Some(vec![0xFF]));
        assert_eq!(case.expect.to_string(), r#"{"error":"no /t"}"#);
    }

    #[test]
    fn files_of_another_format_are_refused() {
        for (text, why) in [
            ("{}", "array"),
            (r#"[{"name":"a","input":{},"expect":{}},{"name":"a","input":{},"expect":{}}]"#, "second case"),
            (r#"[{"name":"a","input":{}}]"#, "expect"),
            (r#"[{"name":"a","input":{},"expect":{},"expects":{}}]"#, "unknown key"),
        ] {
            assert!(parse("validate", text).unwrap_err().contains(why), "{text}");
        }
    }
}
