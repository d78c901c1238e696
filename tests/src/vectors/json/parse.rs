//! The parser behind [`Json`]: recursive descent over bytes, bounded in depth.

use std::fmt;

use super::Json;

/// Deeper documents are refused; the vectors themselves stay below 20.
const MAX_DEPTH: usize = 256;

/// How a repeated key is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// A repeated key is an error.
    Strict,
    /// The last value of a repeated key counts.
    LastKeyWins,
    /// So it does, and half of a UTF-16 pair reads as U+FFFD, as Go has it.
    Tolerant,
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub what: String,
    /// Offset of the fault in bytes.
    pub offset: usize,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.offset)
    }
}

impl std::error::Error for ParseError {}

pub(super) fn document(text: &str, rules: Rules) -> Result<Json, ParseError> {
    let mut parser = Parser { text, at: 0, rules };
    let value = parser.value(0)?;
    parser.space();
    if parser.at == text.len() { Ok(value) } else { Err(parser.fault("text after the document")) }
}

pub(super) fn documents(text: &str) -> Result<Vec<Json>, ParseError> {
    let mut parser = Parser { text, at: 0, rules: Rules::Strict };
    let mut found = Vec::new();
    loop {
        parser.space();
        if parser.at == text.len() {
            return Ok(found);
        }
        found.push(parser.value(0)?);
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    rules: Rules,
}

impl Parser<'_> {
    fn fault(&self, what: impl Into<String>) -> ParseError {
        ParseError { what: what.into(), offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), ParseError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.fault(format!("expected {:?}", char::from(byte))))
    }

    fn value(&mut self, depth: usize) -> Result<Json, ParseError> {
        if depth > MAX_DEPTH {
            return Err(self.fault("nested too deep"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, ParseError> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault("expected a value"))
    }

    fn object(&mut self, depth: usize) -> Result<Json, ParseError> {
        let mut fields: Vec<(String, Json)> = Vec::new();
        self.expect(b'{')?;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(fields));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            let value = self.value(depth + 1)?;
            match fields.iter_mut().find(|(name, _)| *name == key) {
                None => fields.push((key, value)),
                Some(known) if self.rules != Rules::Strict => known.1 = value,
                Some(_) => return Err(self.fault(format!("duplicate key {key:?}"))),
            }
            self.space();
            if self.peek() == Some(b',') {
                self.at += 1;
                continue;
            }
            self.expect(b'}')?;
            return Ok(Json::Object(fields));
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, ParseError> {
        let mut items = Vec::new();
        self.expect(b'[')?;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.peek() == Some(b',') {
                self.at += 1;
                continue;
            }
            self.expect(b']')?;
            return Ok(Json::Array(items));
        }
    }

    fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }

    fn digits(&mut self) -> Result<(), ParseError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fault("expected a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.fault("unfinished string"));
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(out);
                }
                '\\' => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                c if c < ' ' => return Err(self.fault("control character in a string")),
                c => {
                    self.at += c.len_utf8();
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        let Some(byte) = self.peek() else { return Err(self.fault("unfinished escape")) };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(self.fault("unknown escape")),
        })
    }

    fn unicode_escape(&mut self) -> Result<char, ParseError> {
        let first = self.hex4()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        // Half of a pair: the other half must follow at once.
        let after_first = self.at;
        if first < 0xDC00 && self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.hex4()?;
            if (0xDC00..0xE000).contains(&second)
                && let Some(c) = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            {
                return Ok(c);
            }
        }
        self.at = after_first;
        if self.rules == Rules::Tolerant { Ok('\u{FFFD}') } else { Err(self.fault("lone surrogate")) }
    }

    fn hex4(&mut self) -> Result<u32, ParseError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or_default();
        let mut value = 0;
        for digit in digits {
            value = value * 16
                + char::from(*digit).to_digit(16).ok_or_else(|| self.fault("expected a hex digit"))?;
        }
        if digits.len() < 4 {
            return Err(self.fault("expected four hex digits"));
        }
        self.at += 4;
        Ok(value)
    }
}
