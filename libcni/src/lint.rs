//! What a plugin of a chain leaves out of the result that it was given.

use std::fmt;

use cni_types::{AddResult, Cidr, VersionedResult};

/// Something that the plugins before had reported, and a later result lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// An address.
    Address(Cidr),
    /// An interface, by name.
    Interface(String),
    /// The isolation domain of an interface that is still there.
    Sandbox {
        /// The interface's name.
        interface: String,
        /// The isolation domain it was in.
        sandbox: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "address {address}"),
            Self::Interface(name) => write!(f, "interface {name:?}"),
            Self::Sandbox { interface, sandbox } => {
                write!(f, "sandbox {sandbox:?} of interface {interface:?}")
            }
        }
    }
}

/// What `after` lacks of `before`, in the order in which it stands there.
pub(crate) fn losses(before: &VersionedResult, after: &VersionedResult) -> Vec<Loss> {
    losses_in(&before.clone().into_add_result(), &after.clone().into_add_result())
}

fn losses_in(before: &AddResult, after: &AddResult) -> Vec<Loss> {
    let mut losses = Vec::new();
    for old in &before.interfaces {
        let mut namesakes = after.interfaces.iter().filter(|new| new.name == old.name).peekable();
        if namesakes.peek().is_none() {
            losses.push(Loss::Interface(old.name.clone()));
        } else if let Some(sandbox) = &old.sandbox
            && !namesakes.any(|new| new.sandbox == old.sandbox)
        {
            losses.push(Loss::Sandbox { interface: old.name.clone(), sandbox: sandbox.clone() });
        }
    }
    let kept = |old: &Cidr| after.ips.iter().any(|new| new.address == *old);
    losses.extend(before.ips.iter().map(|ip| ip.address).filter(|old| !kept(old)).map(Loss::Address));
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: &str) -> VersionedResult {
        VersionedResult::decode(json.as_bytes()).unwrap()
    }

    #[test]
    fn c56_what_a_plugin_drops_is_told() {
        let before = result(
            r#"{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","sandbox":"/run/netns/x"},{"name":"veth1"}],
                "ips":[{"address":"10.1.0.5/16","interface":0},{"address":"fd00::5/64"}]}"#,
        );
        let after = result(
            r#"{"cniVersion":"0.4.0","interfaces":[{"name":"eth0"},{"name":"lo"}],
                "ips":[{"version":"6","address":"fd00::5/64"}]}"#,
        );
        let told: Vec<_> = losses(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [r#"sandbox "/run/netns/x" of interface "eth0""#, r#"interface "veth1""#, "address 10.1.0.5/16"]
        );
        assert_eq!(losses(&before, &before), []);
    }
}
