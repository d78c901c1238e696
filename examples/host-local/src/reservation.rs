//! What stands in a reservation: the attachment that holds the address, in Go's words.

use std::collections::HashSet;
use std::fmt;

use cni_skel::types::{ContainerId, InterfaceName};

/// What is between container ID and interface name.
const LINE_BREAK: &str = "\r\n";

/// An attachment, as reservations name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    id: String,
    text: String,
}

impl Owner {
    /// The attachment of a container by an interface.
    pub fn new(container_id: &ContainerId, ifname: &InterfaceName) -> Self {
        Self { id: container_id.to_string(), text: format!("{container_id}{LINE_BREAK}{ifname}") }
    }

    /// The container's ID: the whole of a reservation by an old plugin, which did not write the interface.
    pub fn container_id(&self) -> &str {
        &self.id
    }

    /// The whole of a reservation.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Who holds an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// An attachment; without an interface if an old plugin wrote it.
    Attachment {
        /// The container's ID.
        id: String,
        /// The interface's name.
        ifname: Option<String>,
    },
    /// The file is there, but is no reservation: a person keeps the address out of use.
    Unknown,
}

impl Holder {
    /// Reads a reservation.
    pub fn of(text: &str) -> Self {
        let (id, ifname) = match text.split_once(LINE_BREAK) {
            Some((id, ifname)) => (id, Some(ifname)),
            None => (text, None),
        };
        let valid =
            ContainerId::new(id).is_ok() && ifname.is_none_or(|ifname| InterfaceName::new(ifname).is_ok());
        if valid {
            Self::Attachment { id: id.to_owned(), ifname: ifname.map(str::to_owned) }
        } else {
            Self::Unknown
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attachment { id, ifname: Some(ifname) } => {
                write!(f, "held by {id} with interface {ifname}")
            }
            Self::Attachment { id, ifname: None } => write!(f, "held by {id}"),
            Self::Unknown => f.write_str("held by a file that is no reservation"),
        }
    }
}

/// The attachments that GC leaves alone.
#[derive(Debug, Default)]
pub struct ValidOwners {
    texts: HashSet<String>,
}

impl ValidOwners {
    /// The owners of these container IDs and interface names.
    pub fn new<'a>(attachments: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let both = |(id, ifname)| [format!("{id}{LINE_BREAK}{ifname}"), String::from(id)];
        Self { texts: attachments.into_iter().flat_map(both).collect() }
    }

    /// Whether what stands in a file is a reservation that none of them holds.
    ///
    /// One that names the container alone is held whatever the interface. What is no reservation is none of GC's
    /// business.
    pub fn lack(&self, text: &str) -> bool {
        Holder::of(text) != Holder::Unknown && !self.texts.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_read_as_it_is_written() {
        let owner = Owner::new(&"c1".parse().unwrap(), &"eth0".parse().unwrap());
        assert_eq!(owner.text(), "c1\r\neth0");
        assert_eq!(Holder::of(owner.text()).to_string(), "held by c1 with interface eth0");
        assert_eq!(Holder::of("c1").to_string(), "held by c1");
        for text in ["reserved for the router", "c1\neth0", "c1\r\n", "c1\r\neth0\r\nx", "\r\neth0", "-c1"] {
            assert_eq!(Holder::of(text), Holder::Unknown, "{text:?}");
        }
    }

    #[test]
    fn stale_is_what_is_a_reservation_of_nobody_valid() {
        let valid = ValidOwners::new([("c1", "eth0"), ("c2", "net1")]);
        for text in ["c1\r\neth1", "c3\r\neth0", "c3", "c1\r\nnet1"] {
            assert!(valid.lack(text), "{text:?}");
        }
        for text in ["c1\r\neth0", "c1", "c2", "c2\r\nnet1", "for the router", "c3\neth0"] {
            assert!(!valid.lack(text), "{text:?}");
        }
    }
}
