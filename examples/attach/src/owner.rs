//! What belongs to an attachment is called after it, which is how DEL, CHECK and GC find it again.
//!
//! Chains and comments are Go's, character for character, so that either plugin finds the rules of the other. The alias of
//! a link is ours alone; Go's plugins neither write nor read one.

use std::hash::{BuildHasher as _, RandomState};

use cni_skel::types::config::Attachment;
use plugin_support::Mac;
use sha2::{Digest, Sha512};

/// The longest comment of an iptables rule, in bytes.
const LONGEST_IPTABLES_COMMENT: usize = 255;
/// The longest comment of an nftables rule, in bytes.
pub const LONGEST_NFT_COMMENT: usize = 128;

/// An attachment: a container in a network, by an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The network's name.
    pub network: String,
    /// The container's ID.
    pub container_id: String,
    /// The interface's name, inside the container.
    pub ifname: String,
}

impl Owner {
    /// The attachment of these names.
    pub fn new(network: &str, container_id: &str, ifname: &str) -> Self {
        Self { network: network.into(), container_id: container_id.into(), ifname: ifname.into() }
    }

    /// One that a GC request names.
    pub fn of(network: &str, attachment: &Attachment) -> Self {
        Self::new(network, attachment.container_id(), attachment.ifname())
    }

    /// The iptables chain that masquerades. All interfaces of the container in the network share it.
    pub fn masquerade_chain(&self) -> String {
        format!("{MASQUERADE_CHAIN}{}", digest(&[&self.network, &self.container_id], 24))
    }

    /// The comment of the iptables rules that masquerade.
    pub fn iptables_comment(&self) -> String {
        let comment = format!("{}{:?}", iptables_comment_of(&self.network), self.container_id);
        first_bytes(&comment, LONGEST_IPTABLES_COMMENT).to_owned()
    }

    /// What the comment of an nftables rule that masquerades starts with: the network's key, a minus, the attachment's.
    pub fn key(&self) -> String {
        format!("{}{}", network_key(&self.network), digest(&[&self.ifname, ":", &self.container_id], 16))
    }

    /// The name of a link until it gets the one that it is to have. It is nobody else's.
    pub fn temporary_name(&self) -> String {
        format!("cni{}", digest(&[&self.key()], 12))
    }

    /// The comment of the nftables rules that masquerade, and the alias of links on the host: a key to search for and words
    /// for people, as far as there is room for them. Links inside the container have the [`key`](Self::key) alone: it
    /// tells a container nothing.
    pub fn label(&self) -> String {
        let Self { network, container_id, ifname } = self;
        // A quotation mark cannot be written in a comment.
        let label =
            format!("{}, net: {network}, if: {ifname}, id: {container_id}", self.key()).replace('"', "");
        first_bytes(&label, LONGEST_NFT_COMMENT).to_owned()
    }
}

/// What all chains of [`Owner::masquerade_chain`] start with, and how long they are.
const MASQUERADE_CHAIN: &str = "CNI-";
const MASQUERADE_CHAIN_LENGTH: usize = 28;

/// Whether a chain may be one of [`Owner::masquerade_chain`].
pub fn is_masquerade_chain(name: &str) -> bool {
    name.len() == MASQUERADE_CHAIN_LENGTH
        && name.strip_prefix(MASQUERADE_CHAIN).is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// What all comments of [`Owner::iptables_comment`] in a network start with.
pub fn iptables_comment_of(network: &str) -> String {
    format!("name: {network:?} id: ")
}

/// What all keys of a network start with.
pub fn network_key(network: &str) -> String {
    format!("{}-", digest(&[network], 16))
}

/// The key that a [`label`](Owner::label) starts with; `None` if the text is neither a label nor a key.
pub fn key_of(label: &str) -> Option<&str> {
    let key = label.split_once(", net: ").map_or(label, |(key, _)| key);
    let (network, attachment) = key.split_once('-')?;
    let is_digest = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest(network) && is_digest(attachment)).then_some(key)
}

/// A name for the host's end of a veth pair.
pub fn random_veth() -> String {
    format!("veth{:08x}", random() & 0xffff_ffff)
}

/// An address of nobody else, for an interface that should keep its own.
pub fn random_mac() -> Mac {
    let [_, _, first, rest @ ..] = random().to_be_bytes();
    // One interface's, and not from a manufacturer.
    let first = first & !0x01 | 0x02;
    let [b, c, d, e, f] = rest;
    Mac([first, b, c, d, e, f])
}

/// A number that is no other's: the standard library seeds its hash tables with the system's randomness.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// The first hexadecimal digits of the SHA-512 of these texts, one after the other.
pub fn digest(texts: &[&str], digits: usize) -> String {
    let mut hash = Sha512::new();
    texts.iter().for_each(|text| hash.update(text));
    let mut hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(digits);
    hex
}

/// The first bytes of a text, less those of a character that does not fit.
fn first_bytes(text: &str, count: usize) -> &str {
    let end = (0..=count.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner::new("n1", "c1", "eth0")
    }

    #[test]
    fn names_are_those_of_gos_plugin() {
        // As Go's plugin was seen to write them.
        assert_eq!(owner().masquerade_chain(), "CNI-7be53730afe4dc6eb2178d03");
        assert_eq!(owner().iptables_comment(), r#"name: "n1" id: "c1""#);
    }

    #[test]
    fn a_label_has_the_key_of_network_and_attachment() {
        let label = owner().label();
        assert_eq!(
            label,
            format!("{}-{}, net: n1, if: eth0, id: c1", digest(&["n1"], 16), digest(&["eth0:c1"], 16))
        );
        assert_eq!(key_of(&label), Some(owner().key().as_str()));
        assert_eq!(key_of(&owner().key()), Some(owner().key().as_str()));
        assert!(label.starts_with(&network_key("n1")));
        for other in
            [Owner::new("n2", "c1", "eth0"), Owner::new("n1", "c2", "eth0"), Owner::new("n1", "c1", "e")]
        {
            assert_ne!(other.key(), owner().key());
        }
        for text in ["", "uplink, net: x", "0123456789abcdef-0123456789abcdeg, net: x"] {
            assert_eq!(key_of(text), None);
        }
    }

    #[test]
    fn whatever_the_names_there_is_room() {
        let long = Owner::new("n".repeat(300).as_str(), &"c".repeat(300), "\"é\"");
        assert_eq!(long.iptables_comment().len(), 255);
        assert!(long.label().len() <= 128 && !long.label().contains('"'));
        assert!(key_of(&long.label()).is_some());
    }

    #[test]
    fn chains_of_others_are_told_apart() {
        assert!(is_masquerade_chain(&owner().masquerade_chain()));
        for name in
            ["CNI-HOSTPORT-MASQ", "CNI-DN-0123456789abcdef01234", "CNI-7be53730afe4dc6eb2178d0g", "CNI-"]
        {
            assert!(!is_masquerade_chain(name), "{name}");
        }
    }

    #[test]
    fn random_names_and_addresses_can_be_used() {
        for _ in 0..100 {
            let name = random_veth();
            assert!(name.len() == 12 && name.starts_with("veth"), "{name}");
            assert_eq!(random_mac().octets()[0] & 0x03, 0x02);
        }
        assert_ne!(random_veth(), random_veth());
    }
}
