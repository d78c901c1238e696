//! What a host and its containers have, as lines: links, addresses, routes, settings, rules, files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cni_tests::private_host::PrivateHost;
use serde_json::Value;

use super::text;

/// Looks at the kernel.
const KERNEL: &str = include_str!("kernel.sh");

/// Where plugins keep files.
const DIRS: [&str; 2] = ["/run/cni", "/var/lib/cni"];

/// What there is at one time.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) lines: Vec<String>,
    /// The hardware addresses of links, by place and name.
    pub(super) macs: BTreeMap<(String, String), String>,
}

impl Snapshot {
    /// What files there are, and what the kernel has in `places`, which are `host` and names of namespaces; with what the
    /// script `more` prints of each.
    pub(super) fn take(host: &PrivateHost, places: &[&str], more: &str) -> Self {
        let mut snapshot = Self::default();
        for dir in DIRS {
            snapshot.file(host, Path::new(dir));
        }
        if !places.is_empty() {
            let text = host.run(["bash", "-c", KERNEL, "kernel", more].iter().chain(places)).stdout;
            let mut section = ("", "");
            for line in text.lines().filter(|line| !line.is_empty()) {
                match line.strip_prefix("## ") {
                    Some(header) => section = header.split_once(' ').unwrap(),
                    None => snapshot.read(section, line),
                }
            }
        }
        snapshot
    }

    /// A file or a directory, if it is there, and what is in it.
    fn file(&mut self, host: &PrivateHost, path: &Path) {
        let outside = host.from_outside(path.to_str().unwrap());
        let Ok(metadata) = fs::symlink_metadata(&outside) else { return };
        self.lines.push(format!("host: mode of {}: {:04o}", path.display(), metadata.mode() & 0o7777));
        if metadata.is_dir() {
            for entry in fs::read_dir(outside).unwrap() {
                self.file(host, &path.join(entry.unwrap().file_name()));
            }
        } else {
            let content = fs::read(outside).unwrap();
            let content = String::from_utf8_lossy(&content);
            self.lines.push(format!("host: file {}: {content:?}", path.display()));
        }
    }

    fn read(&mut self, (kind, place): (&str, &str), line: &str) {
        match kind {
            "links" => {
                for link in serde_json::from_str::<Vec<Value>>(line).unwrap() {
                    self.link(place, &link);
                    self.addresses(place, &link);
                }
            }
            "iptables" | "ip6tables" if !is_rule(line) => {}
            "settings" if USUAL_SETTINGS.iter().any(|usual| line.ends_with(usual)) => {}
            // The kernel makes them, and notes when a bridge has no port any more, in the background.
            "routes" if line.starts_with("fe80::/64") => {}
            "routes" => self.lines.push(format!("{place}: route {}", line.replace(" linkdown", "").trim())),
            _ => self.lines.push(format!("{place}: {kind}: {}", line.trim())),
        }
    }

    fn link(&mut self, place: &str, link: &Value) {
        let name = link["ifname"].as_str().unwrap();
        let mac = link["address"].as_str().unwrap_or_default();
        self.macs.insert((place.to_owned(), name.to_owned()), mac.to_owned());
        // What an address is by itself is told where it matters: in results, and by cases that choose one.
        let mac = if text::is_random_mac(mac) { "random" } else { mac };
        let flags = link["flags"].as_array().unwrap().iter().filter_map(Value::as_str);
        let flags: Vec<_> = flags.filter(|flag| ["UP", "PROMISC", "ALLMULTI"].contains(flag)).collect();
        let of_port = &link["linkinfo"]["info_slave_data"];
        // `ip` does not say it if it is none.
        let queue = if link["txqlen"].is_null() { Value::from(0) } else { link["txqlen"].clone() };
        let details = [
            ("kind", &link["linkinfo"]["info_kind"]),
            ("mtu", &link["mtu"]),
            ("txqlen", &queue),
            ("master", &link["master"]),
            ("promiscuity", &link["promiscuity"]),
            ("mode", &link["linkinfo"]["info_data"]["mode"]),
            ("vlan_filtering", &link["linkinfo"]["info_data"]["vlan_filtering"]),
            ("hairpin", &of_port["hairpin"]),
            ("isolated", &of_port["isolated"]),
            ("alias", &link["ifalias"]),
        ];
        self.lines.push(format!("{place}: link {name}: {mac} {}", flags.join(",")));
        let known = details.into_iter().filter(|detail| !detail.1.is_null() && !is_usual(*detail));
        self.lines.extend(known.map(|(what, value)| format!("{place}: link {name}: {what} {value}")));
    }

    fn addresses(&mut self, place: &str, link: &Value) {
        let name = link["ifname"].as_str().unwrap();
        for address in link["addr_info"].as_array().unwrap() {
            let local = address["local"].as_str().unwrap();
            // The kernel makes them of hardware addresses.
            if !local.starts_with("fe80:") {
                let (length, scope) = (&address["prefixlen"], &address["scope"]);
                self.lines.push(format!("{place}: address {local}/{length} scope {scope} on {name}"));
            }
        }
    }
}

/// Settings of links as the kernel makes them.
const USUAL_SETTINGS: [&str; 10] = [
    "/accept_dad:1",
    "/accept_ra:1",
    "/arp_notify:0",
    "/disable_ipv6:0",
    "/enhanced_dad:1",
    "/keep_addr_on_down:0",
    "/log_martians:0",
    "/ndisc_notify:0",
    "/route_localnet:0",
    "/rp_filter:0",
];

/// Whether links are so unless somebody says otherwise.
fn is_usual((what, value): (&str, &Value)) -> bool {
    match what {
        "hairpin" | "isolated" => *value == Value::Bool(false),
        "mtu" => *value == 1500,
        "promiscuity" | "vlan_filtering" => *value == 0,
        "txqlen" => *value == 1000,
        _ => false,
    }
}

/// Whether a line of `iptables-save` is a rule or a chain that somebody has made.
fn is_rule(line: &str) -> bool {
    line.starts_with("-A ") || (line.starts_with(':') && line.ends_with("- [0:0]"))
}
