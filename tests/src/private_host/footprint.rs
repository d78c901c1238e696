//! What attachments leave on a host while they exist, and must not leave behind when they are gone. Permanent
//! things are left out, since plugins keep them on purpose: bridges, the firewall's shared chains, lock files,
//! the last address.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::PrivateHost;

/// The traces of attachments on a host; empty when all of them are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The host's ends of virtual Ethernet pairs, but not those that a test made for itself.
    pub links: BTreeSet<String>,
    /// Network namespaces, but not those that a test made for itself.
    pub namespaces: BTreeSet<String>,
    /// Files of address reservations.
    pub reservations: BTreeSet<String>,
    /// Files of cached results.
    pub results: BTreeSet<String>,
    /// Files in which plugins note what they have changed, in the directories that they choose themselves.
    pub records: BTreeSet<String>,
    /// Firewall rules and chains that belong to one attachment.
    pub rules: BTreeSet<String>,
}

impl Footprint {
    fn of(host: &PrivateHost) -> Self {
        let lines =
            |words: &[&str]| -> Vec<String> { host.run(words).stdout.lines().map(str::to_owned).collect() };
        // A directory that does not exist holds nothing.
        let files = |dir: &str| -> Vec<String> {
            let found = host.command(["find", dir, "-type", "f"]).attempt();
            found.stdout.lines().map(str::to_owned).collect()
        };
        let mut rules = BTreeSet::new();
        for save in ["iptables-save", "ip6tables-save"] {
            rules.extend(lines(&[save]).into_iter().filter(|line| is_iptables_rule_of_attachment(line)));
        }
        rules.extend(
            lines(&["nft", "list", "ruleset"]).into_iter().filter(|line| is_nft_rule_of_attachment(line)),
        );
        Self {
            links: lines(&["ip", "-o", "link", "show", "type", "veth"])
                .into_iter()
                .filter(|line| !line.contains(&format!(" {}", crate::netns::PREFIX)))
                .collect(),
            namespaces: lines(&["ip", "netns", "list"])
                .into_iter()
                .filter(|line| !line.starts_with(crate::netns::PREFIX))
                .collect(),
            reservations: files("/var/lib/cni/networks")
                .into_iter()
                .filter(|path| is_reservation(path))
                .collect(),
            results: files("/var/lib/cni/results").into_iter().collect(),
            // Of a plugin that was killed while it wrote one, a part is left under a name that nobody reads.
            records: files("/run/cni")
                .into_iter()
                .filter(|path| !path.ends_with("/lock") && !path.contains("/.tmp-"))
                .collect(),
            rules,
        }
    }
}

/// How long the kernel may take to remove the links of a namespace that is gone: it does so in the background.
const PATIENCE: Duration = Duration::from_secs(10);

impl PrivateHost {
    /// The traces of attachments that are on the host. Where there are links, this waits a while for them to
    /// vanish: it is for the end of a test.
    ///
    /// # Panics
    ///
    /// If the tools to look (`ip`, `iptables-save`, `ip6tables-save`, `nft`) cannot be run.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let footprint = Footprint::of(self);
            if footprint.links.is_empty() || Instant::now() > deadline {
                return footprint;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asserts that no attachment has left anything behind.
    ///
    /// # Panics
    ///
    /// If one has.
    pub fn assert_clean(&self) {
        assert_eq!(self.footprint(), Footprint::default(), "attachments left something behind");
    }
}

/// Plugins name a chain of one attachment `CNI-` or `CNI-DN-` and part of a hash, shared ones in words; a rule
/// in a shared chain says in its comment whom it is for.
fn is_iptables_rule_of_attachment(line: &str) -> bool {
    let of_chain = line.split_whitespace().any(|word| {
        let name = word.trim_start_matches(':');
        let hash = name.strip_prefix("CNI-DN-").or_else(|| name.strip_prefix("CNI-SN-"));
        let hash = hash.or_else(|| name.strip_prefix("CNI-"));
        hash.is_some_and(|hash| hash.len() >= 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    of_chain || line.contains("id: ")
}

/// In nft tables of plugins a rule of one attachment has a comment with its ID, and one that keeps hardware addresses
/// from being spoofed also chains of its own.
fn is_nft_rule_of_attachment(line: &str) -> bool {
    let Some((rule, comment)) = line.split_once("comment \"") else {
        return line.trim_start().starts_with("chain cni-br-iface-");
    };
    // The shared rules of iptables can be seen as nft's, too.
    let is_shared = comment.starts_with("CNI ");
    let names_one = comment.contains("id: ") || comment.starts_with("macspoofchk-");
    names_one || (!is_shared && (rule.contains(" dnat to ") || rule.contains(" masquerade ")))
}

fn is_reservation(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    // An address; neither `lock` nor `last_reserved_ip.0` nor an index beside the network's directory.
    name.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_rules_of_attachments_from_permanent_ones() {
        for line in [
            ":CNI-3255ef81b3a2554b2fa5f6cc - [0:0]",
            "-A CNI-DN-0db31fd6de7aa3b2c0f44 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.244.1.2:80",
            r#"-A CNI-HOSTPORT-DNAT -m comment --comment "dnat name: \"mynet\" id: \"c1\"" -j CNI-DN-0db31fd6de7aa3b2c0f44"#,
        ] {
            assert!(is_iptables_rule_of_attachment(line), "{line}");
        }
        for line in [
            ":CNI-HOSTPORT-DNAT - [0:0]",
            "-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT",
            r#"-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ"#,
        ] {
            assert!(!is_iptables_rule_of_attachment(line), "{line}");
        }
    }

    #[test]
    fn tells_nft_rules_of_attachments_from_permanent_ones() {
        for line in [
            r#"ip saddr 10.1.0.2 ip daddr != 10.1.0.0/24 masquerade comment "8de6-f7, net: n, if: eth0, id: c1""#,
            r#"tcp dport 8080 dnat to 10.1.0.2:80 comment "c1""#,
            r#"ip saddr 127.0.0.1 ip daddr 10.1.0.2 masquerade comment "c1""#,
            r#"ether saddr 02:00:00:00:00:01 return comment "macspoofchk-c1-eth0""#,
            "chain cni-br-iface-c1-eth0 {",
        ] {
            assert!(is_nft_rule_of_attachment(line), "{line}");
        }
        for line in [
            r#"table ip cni_hostport { comment "CNI portmap plugin""#,
            r#"comment "CNI portfwd masquerade mark" counter packets 0 bytes 0 meta mark set meta mark or 0x2000"#,
            r#"meta mark & 0x2000 == 0x2000 counter packets 0 bytes 0 masquerade comment "CNI portfwd requiring masquerade""#,
            "chain hostports {",
            "ip daddr 224.0.0.0/4 return",
        ] {
            assert!(!is_nft_rule_of_attachment(line), "{line}");
        }
    }

    #[test]
    fn tells_reservations_from_other_files() {
        assert!(is_reservation("/var/lib/cni/networks/mynet/10.244.1.2"));
        assert!(is_reservation("/var/lib/cni/networks/mynet/fd00:1::2"));
        assert!(!is_reservation("/var/lib/cni/networks/mynet/lock"));
        assert!(!is_reservation("/var/lib/cni/networks/mynet/last_reserved_ip.0"));
        assert!(!is_reservation("/var/lib/cni/networks/.mynet.idx"));
    }
}
