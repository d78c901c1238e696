//! What a plugin made of the result that it was given.

use libcni::cni_types::result::Interface;
use libcni::cni_types::{AddResult, ExtraKeys, Route, VersionedResult};

/// Each change as a short text that starts with `+`, `-` or `~`; none if the result was passed on as it was.
pub(crate) fn changes(before: Option<&VersionedResult>, after: &VersionedResult) -> Vec<String> {
    let before = before.map(|result| result.clone().into_add_result()).unwrap_or_default();
    let after = after.clone().into_add_result();
    let mut changes = interfaces(&before, &after);
    changes.extend(difference(&addresses(&before), &addresses(&after)));
    changes.extend(difference(&routes(&before), &routes(&after)));
    if before.dns != after.dns {
        let sign = if before.dns.is_empty() {
            '+'
        } else if after.dns.is_empty() {
            '-'
        } else {
            '~'
        };
        changes.push(format!("{sign}dns"));
    }
    changes.extend(keys(&before.extra, &after.extra));
    changes
}

fn interfaces(before: &AddResult, after: &AddResult) -> Vec<String> {
    // A name may stand for an interface of the host and for one of the container.
    let is_same = |one: &Interface, other: &Interface| one.name == other.name && one.sandbox == other.sandbox;
    let mut changes = Vec::new();
    for old in &before.interfaces {
        if !after.interfaces.iter().any(|new| is_same(old, new)) {
            changes.push(format!("-interface {}", described(old)));
        }
    }
    for new in &after.interfaces {
        match before.interfaces.iter().find(|old| is_same(old, new)) {
            None => changes.push(format!("+interface {}", described(new))),
            Some(old) if old != new => {
                changes.push(format!("~interface {}{}", new.name, properties(old, new)));
            }
            Some(_) => {}
        }
    }
    changes
}

fn described(interface: &Interface) -> String {
    let place = if interface.sandbox.is_some() { "" } else { " (host)" };
    format!("{}{place}", interface.name)
}

/// The new values of what has changed about an interface.
fn properties(old: &Interface, new: &Interface) -> String {
    let values = |of: &Interface| {
        [
            ("mac", of.mac.clone()),
            ("mtu", of.mtu.map(|mtu| mtu.to_string())),
            ("socketPath", of.socket_path.clone()),
            ("pciID", of.pci_id.clone()),
        ]
    };
    let changed = values(old).into_iter().zip(values(new)).filter(|((_, old), (_, new))| old != new);
    changed.map(|(_, (name, value))| format!(" {name} {}", value.as_deref().unwrap_or("none"))).collect()
}

fn addresses(result: &AddResult) -> Vec<String> {
    let text = |ip: &libcni::cni_types::result::IpConfig| {
        let owner = ip.interface.and_then(|at| result.interfaces.get(at));
        let owner = owner.map(|owner| format!(" on {}", owner.name)).unwrap_or_default();
        let gateway = ip.gateway.map(|gateway| format!(" via {gateway}")).unwrap_or_default();
        format!("ip {}{owner}{gateway}", ip.address)
    };
    result.ips.iter().map(text).collect()
}

fn routes(result: &AddResult) -> Vec<String> {
    let text = |route: &Route| {
        let numbers = [
            ("mtu", route.mtu),
            ("advmss", route.advmss),
            ("priority", route.priority),
            ("table", route.table),
            ("scope", route.scope),
        ];
        let numbers = numbers.into_iter().filter_map(|(name, number)| Some(format!(" {name} {}", number?)));
        let gateway = route.gw.map(|gateway| format!(" via {gateway}")).unwrap_or_default();
        format!("route {}{gateway}{}", route.dst, numbers.collect::<String>())
    };
    result.routes.iter().map(text).collect()
}

fn difference(before: &[String], after: &[String]) -> Vec<String> {
    let gone = before.iter().filter(|old| !after.contains(old)).map(|old| format!("-{old}"));
    let new = after.iter().filter(|new| !before.contains(new)).map(|new| format!("+{new}"));
    gone.chain(new).collect()
}

fn keys(before: &ExtraKeys, after: &ExtraKeys) -> Vec<String> {
    let gone =
        before.iter().filter(|(key, _)| after.find(key).is_none()).map(|(key, _)| format!("-key {key}"));
    let new = after.iter().filter_map(|(key, value)| match before.find(key) {
        None => Some(format!("+key {key}")),
        Some(old) if old != value => Some(format!("~key {key}")),
        Some(_) => None,
    });
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: &str) -> VersionedResult {
        VersionedResult::decode(json.as_bytes()).unwrap()
    }

    #[test]
    fn what_has_changed_is_told_and_nothing_else() {
        let before = result(
            r#"{"cniVersion":"1.1.0","interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"/n","mac":"02:00:00:00:00:01"},
                {"name":"lo","sandbox":"/n"}],"ips":[{"interface":1,"address":"10.1.0.5/16","gateway":"10.1.0.1"}],
                "routes":[{"dst":"0.0.0.0/0"}],"dns":{"domain":"a"},"x":1,"y":1}"#,
        );
        let after = result(
            r#"{"cniVersion":"1.1.0","interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"/n","mac":"02:00:00:00:00:02","mtu":9000},
                {"name":"lo"}],"ips":[{"interface":1,"address":"10.1.0.5/16","gateway":"10.1.0.1"},{"address":"fd00::5/64"}],
                "routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1","priority":7}],"x":2,"z":1}"#,
        );
        insta::assert_snapshot!(changes(Some(&before), &after).join("\n"), @"
        -interface lo
        ~interface eth0 mac 02:00:00:00:00:02 mtu 9000
        +interface lo (host)
        +ip fd00::5/64
        -route 0.0.0.0/0
        +route 0.0.0.0/0 via 10.1.0.1 priority 7
        -dns
        -key y
        ~key x
        +key z
        ");
        assert!(changes(Some(&after), &after).is_empty());
        assert_eq!(changes(None, &after).len(), 8);
    }
}
