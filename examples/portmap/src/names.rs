//! What rules of an attachment are called: chains and comments, which are how DEL and GC find them again.
//!
//! They are Go's, character for character, so that either plugin finds the rules of the other.

use sha2::{Digest, Sha512};

/// The longest comment of an iptables rule, in bytes.
const LONGEST_IPTABLES_COMMENT: usize = 255;
/// The longest comment of an nftables rule, in bytes.
const LONGEST_NFT_COMMENT: usize = 128;
/// What all per-container chains start with.
pub(crate) const DNAT_PREFIX: &str = "CNI-DN-";
/// What per-container chains of releases before 0.7 start with.
pub(crate) const OLD_SNAT_PREFIX: &str = "CNI-SN-";

/// The chain of a container's mappings in a network.
pub(crate) fn dnat_chain(network: &str, container_id: &str) -> String {
    format!("{DNAT_PREFIX}{}", digest(&[network, container_id], 21))
}

/// The chain that releases before 0.7 made beside it.
pub(crate) fn old_snat_chain(network: &str, container_id: &str) -> String {
    format!("{OLD_SNAT_PREFIX}{}", digest(&[network, container_id], 21))
}

/// The comment of the rules that lead to a container's chain.
pub(crate) fn dnat_comment(network: &str, container_id: &str) -> String {
    let comment = format!(r#"dnat name: "{network}" id: "{container_id}""#);
    if comment.len() <= LONGEST_IPTABLES_COMMENT {
        return comment;
    }
    // Go writes three dots and one byte too many, which iptables cuts off; so this is what it stores.
    format!("{}..", first_bytes(&comment, LONGEST_IPTABLES_COMMENT - 2))
}

/// The container of a rule that leads to its chain, as far as its comment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// The network.
    pub(crate) network: &'a str,
    /// The container's ID, or the beginning of it if `whole` is not set.
    pub(crate) container_id: &'a str,
    /// Whether the comment had room for all of it.
    pub(crate) whole: bool,
}

impl<'a> Named<'a> {
    /// Reads a comment; `None` if it is none of [`dnat_comment`]'s, or had no room for the network's name.
    pub(crate) fn of(comment: &'a str) -> Option<Self> {
        let (network, id) = comment.strip_prefix(r#"dnat name: ""#)?.split_once(r#"" id: ""#)?;
        Some(match id.strip_suffix('"') {
            Some(id) => Self { network, container_id: id, whole: true },
            None => Self { network, container_id: id.trim_end_matches('.'), whole: false },
        })
    }

    /// Whether this may be the container with this ID.
    pub(crate) fn is(&self, container_id: &str) -> bool {
        if self.whole {
            self.container_id == container_id
        } else {
            container_id.starts_with(self.container_id)
        }
    }
}

/// The comment of a container's nftables rules: its ID, as far as there is room for it.
pub(crate) fn nft_comment(container_id: &str) -> String {
    shortened(container_id, LONGEST_NFT_COMMENT)
}

/// A text of at most `longest` bytes that stands for this one: itself, or its beginning and a digest.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let digest = digest(&[text], 32);
    format!("{}~{digest}", first_bytes(text, longest.saturating_sub(digest.len() + 1)))
}

/// The first hexadecimal digits of the SHA-512 of these texts, one after the other.
pub(crate) fn digest(texts: &[&str], digits: usize) -> String {
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

    #[test]
    fn a_chain_is_named_as_go_names_it() {
        // What Debian's portmap 1.1.1 made for this network and container.
        assert_eq!(dnat_chain("br", "cid1"), "CNI-DN-a639b378b178d07a2cef8");
        assert_eq!(old_snat_chain("br", "cid1"), "CNI-SN-a639b378b178d07a2cef8");
        assert_eq!(dnat_chain("br", "cid1").len(), 28, "iptables takes no longer name");
    }

    #[test]
    fn a_comment_says_who() {
        let comment = dnat_comment("br", "cid1");
        assert_eq!(comment, r#"dnat name: "br" id: "cid1""#);
        let named = Named::of(&comment).unwrap();
        assert_eq!(named, Named { network: "br", container_id: "cid1", whole: true });
        assert!(named.is("cid1") && !named.is("cid"));
        assert_eq!(Named::of("CNI portfwd masquerade mark"), None);
    }

    #[test]
    fn a_long_comment_is_cut_and_still_says_who() {
        let id = "i".repeat(300);
        let comment = dnat_comment("br", &id);
        assert_eq!(comment.len(), 255);
        let named = Named::of(&comment).unwrap();
        assert_eq!((named.network, named.whole), ("br", false));
        assert!(named.is(&id) && !named.is("other"));
        assert_eq!(Named::of(&dnat_comment(&"n".repeat(300), "c")), None, "no room for the network");
    }

    #[test]
    fn ids_of_any_length_become_nft_comments() {
        assert_eq!(nft_comment("cid1"), "cid1");
        let (a, b) = (format!("{}a", "i".repeat(128)), format!("{}b", "i".repeat(128)));
        assert_eq!(nft_comment(&a[..128]), a[..128]);
        assert_eq!(nft_comment(&a).len(), 128);
        assert_ne!(nft_comment(&a), nft_comment(&b));
    }

    #[test]
    fn no_character_is_split() {
        assert_eq!(first_bytes("aü", 2), "a");
        assert_eq!(first_bytes("aü", 3), "aü");
        assert_eq!(first_bytes("a", 9), "a");
    }
}
