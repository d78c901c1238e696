//! `resolv.conf`: what of it goes into a result.

use std::path::Path;

use cni_skel::Dns;
use plugin_support::{Error, Result, bounded};

/// Reads a file of the form of `/etc/resolv.conf`.
///
/// # Errors
///
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Dns> {
    // Go's words, without quotes: `open /x: no such file or directory`.
    let bytes = bounded::read(path, bounded::MAX_BYTES)
        .map_err(|error| Error::io(format!("open {}", path.display()), error))?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// As Go does: name servers, search domains and options add up, the last domain wins, and what is not known is skipped.
pub fn parse(text: &str) -> Dns {
    let mut dns = Dns::default();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        let mut words = line.split_whitespace();
        let Some(keyword) = words.next() else { continue };
        let mut values = words.map(str::to_owned);
        match keyword {
            "nameserver" => dns.nameservers.extend(values.next()),
            "domain" => dns.domain = values.next().unwrap_or(dns.domain),
            "search" => dns.search.extend(values),
            "options" => dns.options.extend(values),
            _ => {}
        }
    }
    dns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_taken() {
        let dns = parse(
            "# a comment\n; another\n\nnameserver 192.0.2.1 ignored\r\n  nameserver\t2001:db8::1\nnameserver\n\
             domain old.example\ndomain new.example\ndomain\nsearch a.example b.example\nsearch c.example\n\
             options ndots:2 edns0\noptions rotate\nsortlist 192.0.2.0\nNAMESERVER 192.0.2.9\nnameserver 192.0.2.3 # note",
        );
        assert_eq!(dns.nameservers, ["192.0.2.1", "2001:db8::1", "192.0.2.3"]);
        assert_eq!(dns.domain, "new.example");
        assert_eq!(dns.search, ["a.example", "b.example", "c.example"]);
        assert_eq!(dns.options, ["ndots:2", "edns0", "rotate"]);
        assert!(parse("").is_empty());
    }

    #[test]
    fn a_file_is_read_up_to_a_limit_and_the_error_says_which() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bounded::MAX_BYTES).unwrap();
        assert!(read(file.path()).unwrap().is_empty());
        file.as_file().set_len(bounded::MAX_BYTES + 1).unwrap();
        let error = cni_skel::Error::from(read(file.path()).unwrap_err()).to_object().msg;
        assert_eq!(error, format!("open {}: larger than 1048576 bytes", file.path().display()));
    }

    #[test]
    fn a_missing_file_is_told_in_gos_words() {
        let error = cni_skel::Error::from(read(Path::new("/no/such/resolv.conf")).unwrap_err());
        assert_eq!(error.to_object().msg, "open /no/such/resolv.conf: no such file or directory");
    }
}
