//! Which sysctls may be set on this machine, whatever a configuration says.
//!
//! A file with a regular expression a line. It is Go's, so a line may match any part of a key, and the key is looked at
//! as it was written. Without a file, everything below `net` is allowed; with an empty one, nothing.

use std::io;
use std::path::{Path, PathBuf};

use cni_skel::{Error, Result};
use plugin_support::bounded::{self, MAX_BYTES};
use regex::bytes::{Regex, RegexBuilder};

use crate::sysctls::Setting;

/// The expressions of the file.
#[derive(Debug)]
pub(crate) struct Allowlist(Vec<Regex>);

impl Allowlist {
    /// Reads a file; `None` if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let read = bounded::read(path, MAX_BYTES).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        });
        let text = match read {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::from(error).context(format!("failed to read {path:?}"))),
        };
        let mut expressions = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            // As Go has it, `\d` and its like are ASCII alone.
            let expression = RegexBuilder::new(line).unicode(false).build();
            expressions.push(expression.map_err(|error| {
                Error::from(error)
                    .context(format!("{path:?} line {number}: {line:?} is no regular expression"))
            })?);
        }
        Ok(Some(Self(expressions)))
    }

    /// Refuses a sysctl that no line allows.
    pub(crate) fn check(&self, setting: &Setting) -> Result<()> {
        if self.0.iter().any(|expression| expression.is_match(setting.key.as_bytes())) {
            return Ok(());
        }
        let lines: Vec<_> = self.0.iter().map(Regex::as_str).collect();
        Err(Error::message(format!(
            "Sysctl {} is not allowed. Only the following sysctls are allowed: [{}]",
            setting.key,
            lines.join(" ")
        )))
    }
}

/// Where the file is on a machine.
pub(crate) fn default_path() -> PathBuf {
    "/etc/cni/tuning/allowlist.conf".into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_a_limit_and_the_error_says_which() {
        let of_length = |length: u64| written(&("core".to_owned() + &" ".repeat(length as usize - 4)));
        assert!(of_length(MAX_BYTES).unwrap().is_some());
        let error = of_length(MAX_BYTES + 1).unwrap_err();
        assert_eq!(error, "failed to read FILE: larger than 1048576 bytes");
    }

    fn written(text: &str) -> Result<Option<Allowlist>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Allowlist::read(file.path())
            .map_err(|error| error.to_object().msg.replace(&format!("{:?}", file.path()), "FILE"))
    }

    fn allows(text: &str, key: &str) -> Result<(), String> {
        let setting = Setting::new(key, "1", "eth0").unwrap();
        written(text).unwrap().unwrap().check(&setting).map_err(|error| error.to_object().msg)
    }

    #[test]
    fn c77_each_key_must_match_a_line() {
        let list = "^net.core.somaxconn$\n\n  ^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]+$  \n";
        allows(list, "net.core.somaxconn").unwrap();
        allows(list, "net/core/somaxconn").unwrap();
        allows(list, "net.ipv4.conf.IFNAME.arp_notify").unwrap();
        assert_eq!(
            allows(list, "net.ipv4.ip_forward").unwrap_err(),
            "Sysctl net.ipv4.ip_forward is not allowed. Only the following sysctls are allowed: \
             [^net.core.somaxconn$ ^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]+$]"
        );
        assert!(allows(list, "net.ipv4.conf.all.arp_notify").is_err());
    }

    #[test]
    fn c77_an_empty_file_allows_nothing_and_no_file_everything() {
        let refused = allows("\n \n", "net.core.somaxconn").unwrap_err();
        assert_eq!(
            refused,
            "Sysctl net.core.somaxconn is not allowed. Only the following sysctls are allowed: []"
        );
        assert!(Allowlist::read(Path::new("/no/such/file")).unwrap().is_none());
        assert!(Allowlist::read(Path::new("/")).is_err(), "what cannot be read allows nothing");
    }

    #[test]
    fn a_line_matches_anywhere_as_gos_do() {
        allows("core", "net.core.somaxconn").unwrap();
        allows(r"conf\.eth\d\.", "net.ipv4.conf.eth0.arp_notify").unwrap();
        allows("(?i)NET.CORE", "net.core.somaxconn").unwrap();
    }

    #[test]
    fn a_line_that_is_no_expression_is_told() {
        let error = written("net.core\n(net\n").unwrap_err();
        assert!(error.starts_with(r#"FILE line 2: "(net" is no regular expression: "#), "{error}");
    }
}
