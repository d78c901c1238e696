//! What the rules against spoofed hardware addresses of an attachment are called: as Go's plugin calls them, so that either
//! finds those of the other.

use plugin_attach::Owner;
use plugin_attach::owner::{LONGEST_NFT_COMMENT, digest};

/// What the rules have in their comment.
const SPOOF_COMMENT: &str = "macspoofchk-";
/// What their chains are called.
const SPOOF_CHAIN: &str = "cni-br-iface-";

/// The names of an attachment.
pub(crate) trait SpoofNames {
    /// The comment of the rules. It does not say the network.
    fn spoof_comment(&self) -> String;

    /// The chains: the one for frames from the host's end of the pair, and the one with the container's address.
    fn spoof_chains(&self) -> [String; 2];
}

impl SpoofNames for Owner {
    fn spoof_comment(&self) -> String {
        format!("{SPOOF_COMMENT}{}", spoof_id(self))
    }

    fn spoof_chains(&self) -> [String; 2] {
        spoof_chains_of(&spoof_id(self))
    }
}

fn spoof_id(owner: &Owner) -> String {
    let id = format!("{}-{}", owner.container_id, owner.ifname);
    if SPOOF_COMMENT.len() + id.len() <= LONGEST_NFT_COMMENT {
        id
    } else {
        // No comment has room for it, which is where Go's plugin gives up.
        digest(&[&id], 64)
    }
}

/// The attachment's part of a comment of [`SpoofNames::spoof_comment`].
pub(crate) fn spoof_id_of(comment: &str) -> Option<&str> {
    comment.strip_prefix(SPOOF_COMMENT)
}

/// The chains that belong to an attachment's part of a comment.
pub(crate) fn spoof_chains_of(id: &str) -> [String; 2] {
    [format!("{SPOOF_CHAIN}{id}"), format!("{SPOOF_CHAIN}{id}-mac")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_gos_plugin() {
        let owner = Owner::new("n1", "c1", "eth0");
        assert_eq!(owner.spoof_comment(), "macspoofchk-c1-eth0");
        assert_eq!(owner.spoof_chains(), ["cni-br-iface-c1-eth0", "cni-br-iface-c1-eth0-mac"]);
    }

    #[test]
    fn whatever_the_names_there_is_room() {
        let long = Owner::new("n", &"c".repeat(300), "\"é\"");
        assert!(long.spoof_comment().len() <= 128 && long.spoof_chains()[1].len() <= 255);
        assert_eq!(spoof_id_of(&long.spoof_comment()).unwrap().len(), 64);
    }
}
