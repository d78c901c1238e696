//! The report as JUnit XML: one suite, a case for each check. Only what every reader of that format knows is used.

use std::fmt::Write as _;

use super::{Outcome, Report};

pub(super) fn write(report: &Report) -> String {
    let [passed, failed, skipped] = report.counts();
    let tests = passed + failed + skipped;
    let suite = escape(&format!("cni-conformance {}", report.plugin));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        r#"<testsuite name="{suite}" tests="{tests}" failures="{failed}" errors="0" skipped="{skipped}">"#
    );
    for check in &report.checks {
        let class = escape(&report.plugin);
        let _ = write!(xml, r#"  <testcase classname="{class}" name="{}">"#, escape(check.id));
        match &check.outcome {
            Outcome::Passed { .. } => {}
            Outcome::Skipped { reason } => {
                let _ = write!(xml, r#"<skipped message="{}"/>"#, escape(reason));
            }
            Outcome::Failed { findings } => {
                let message = escape(check.clause);
                let _ = write!(xml, r#"<failure type="{}" message="{message}">"#, check.severity);
                let _ = writeln!(xml, "{}", escape(&check.link));
                for finding in findings {
                    let told = format!(
                        "{}\nsent: {:?}\nstdin: {}\nreceived: {}\nstdout: {}\nstderr: {}",
                        finding.reason,
                        finding.sent.environment,
                        finding.sent.stdin,
                        finding.received.exit,
                        finding.received.stdout,
                        finding.received.stderr,
                    );
                    let _ = writeln!(xml, "{}", escape(&told));
                }
                xml.push_str("</failure>");
            }
        }
        xml.push_str("</testcase>\n");
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// Text for an element or a quoted attribute. What XML cannot hold at all is replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            _ if character.is_control() => escaped.push('\u{FFFD}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_xml_cannot_hold_is_escaped_or_replaced() {
        assert_eq!(
            escape("a<b> & \"c\"\u{0}\u{1b}[1m\r\n"),
            "a&lt;b&gt; &amp; &quot;c&quot;\u{FFFD}\u{FFFD}[1m\u{FFFD}\n"
        );
    }
}
