//! Sysctls of the made-up kernel: files with Linux' defaults, in a temporary directory. They are remembered, not obeyed.

use std::fs;
use std::path::Path;

const GLOBAL: [(&str, &str); 5] = [
    ("net/core/somaxconn", "4096"),
    ("net/ipv4/ip_forward", "0"),
    ("net/ipv4/ip_local_port_range", "32768\t60999"),
    ("net/ipv4/ip_nonlocal_bind", "0"),
    ("net/ipv4/tcp_syncookies", "1"),
];

const IPV4: [(&str, &str); 10] = [
    ("accept_local", "0"),
    ("arp_announce", "0"),
    ("arp_ignore", "0"),
    ("arp_notify", "0"),
    ("disable_policy", "0"),
    ("forwarding", "0"),
    ("proxy_arp", "0"),
    ("route_localnet", "0"),
    ("rp_filter", "0"),
    ("send_redirects", "1"),
];

const IPV6: [(&str, &str); 9] = [
    ("accept_dad", "1"),
    ("accept_ra", "1"),
    ("autoconf", "1"),
    ("dad_transmits", "1"),
    ("disable_ipv6", "0"),
    ("enhanced_dad", "1"),
    ("forwarding", "0"),
    ("keep_addr_on_down", "0"),
    ("ndisc_notify", "0"),
];

/// What a namespace has without any link.
pub(super) fn populate(root: &Path, ipv6: bool) {
    for (key, value) in GLOBAL {
        write(&root.join(key), value);
    }
    fs::create_dir_all(root.join("net/ipv4/conf")).unwrap_or_else(|error| panic!("{error}"));
    if ipv6 {
        fs::create_dir_all(root.join("net/ipv6/conf")).unwrap_or_else(|error| panic!("{error}"));
    }
    for name in ["all", "default"] {
        add_link(root, name);
    }
}

/// What a link has.
pub(super) fn add_link(root: &Path, name: &str) {
    for (family, defaults) in [("ipv4", &IPV4[..]), ("ipv6", &IPV6)] {
        let conf = root.join("net").join(family).join("conf");
        if conf.exists() {
            for (key, value) in defaults {
                write(&conf.join(name).join(key), value);
            }
        }
    }
}

pub(super) fn rename_link(root: &Path, old: &str, new: &str) {
    for family in ["ipv4", "ipv6"] {
        let conf = root.join("net").join(family).join("conf");
        // Without IPv6 there is none.
        let _ = fs::rename(conf.join(old), conf.join(new));
    }
}

pub(super) fn remove_link(root: &Path, name: &str) {
    for family in ["ipv4", "ipv6"] {
        let _ = fs::remove_dir_all(root.join("net").join(family).join("conf").join(name));
    }
}

fn write(path: &Path, value: &str) {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, format!("{value}\n")))
        .unwrap_or_else(|error| panic!("failed to write {path:?}: {error}"));
}
