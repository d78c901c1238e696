//! What the kernel has in a namespace, as lines, and what changed.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use plugin_support::netlink::Handle;
use plugin_support::netns::NetNs;

/// The links, addresses and routes of host and container, and the host's firewall rules, one a line.
pub(crate) struct Snapshot(Vec<String>);

impl Snapshot {
    pub(crate) fn take(container: &Path) -> Result<Self, Box<dyn Error>> {
        let mut lines = Vec::new();
        collect("host", &NetNs::current()?.netlink()?, &mut lines)?;
        collect("container", &NetNs::open(container)?.netlink()?, &mut lines)?;
        lines.extend(rules());
        Ok(Self(lines))
    }

    /// What came and what went since an earlier one.
    pub(crate) fn since(&self, earlier: &Self) -> Vec<String> {
        let came = self.0.iter().filter(|line| !earlier.0.contains(line)).map(|line| format!("+ {line}"));
        let went = earlier.0.iter().filter(|line| !self.0.contains(line)).map(|line| format!("- {line}"));
        went.chain(came).collect()
    }
}

fn collect(place: &str, netlink: &Handle, lines: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for link in netlink.links()? {
        let state = if link.is_up() { "up" } else { "down" };
        lines.push(format!("{place}: link {} {state} mtu {}", link.name, link.mtu));
        for address in netlink.addresses(&link)? {
            // The kernel's own, which come and go by themselves.
            if !address.network.ip().to_string().starts_with("fe80:") {
                lines.push(format!("{place}: address {} on {}", address.network, link.name));
            }
        }
    }
    Ok(())
}

/// The firewall's rules, if a tool can tell them.
fn rules() -> Vec<String> {
    let tools = [("iptables-save", &["-t", "nat"] as &[&str]), ("nft", &["list", "ruleset"])];
    for (tool, arguments) in tools {
        if let Ok(output) = Command::new(tool).args(arguments).output()
            && output.status.success()
        {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let rules = text.lines().filter(|line| line.starts_with("-A") || line.contains("dnat to"));
            return rules.map(|rule| format!("host: rule {}", rule.trim())).collect();
        }
    }
    Vec::new()
}
