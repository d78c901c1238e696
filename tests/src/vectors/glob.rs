//! Name patterns: `*` stands for any text, also none; everything else for itself.

/// Whether `pattern` matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The leftmost fit is always as good as any later one.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn star_stands_for_any_text() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "a/b"),
            ("a*", "a"),
            ("a/*/c", "a/b/b/c"),
            ("*/c", "a/c"),
            ("a*b*c", "a-b-b-c"),
            ("a", "a"),
            ("a[0]", "a[0]"),
            ("**a", "a"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("a", "ab"), ("a*b", "ab/c"), ("aa*a", "aa"), ("*ab*ab", "ab"), ("", "a"), ("A*", "ab")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
