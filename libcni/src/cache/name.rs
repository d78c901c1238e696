//! The names of cache files.
//!
//! Go's library joins network, container and interface by `-`, which all three may hold: `a-b` and `c` give the same name
//! as `a` and `b-c`. Its name is used wherever it is free, since a Go runtime on the same node looks there and nowhere
//! else; what a file is for is told by its content. An attachment whose name is taken by another gets a second name. All
//! names but Go's start with a character that none of Go's can start with, and have the lengths of the parts in front, so
//! that no two attachments share them.

use std::path::{Path, PathBuf};

/// The longest name that Linux file systems take, in bytes.
const MAX_NAME_BYTES: usize = 255;
/// How much of Go's name is kept in front of a hash.
const KEPT_BYTES: usize = 200;

/// What the names of half-written files start with.
pub(crate) const TEMPORARY_PREFIX: &str = ".libcni-";

/// What a cached attachment is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity<'a> {
    pub(crate) network: &'a str,
    pub(crate) container_id: &'a str,
    pub(crate) ifname: &'a str,
}

impl Identity<'_> {
    /// The name that Go's library uses.
    pub(crate) fn common_name(&self) -> String {
        format!("{}-{}-{}", self.network, self.container_id, self.ifname)
    }

    /// How long Go's name is, if that is too long for a file.
    pub(crate) fn excess(&self) -> Option<usize> {
        let length = self.network.len() + self.container_id.len() + self.ifname.len() + 2;
        (length > MAX_NAME_BYTES).then_some(length)
    }

    /// Every name in a directory: the one that Go's library uses, the one to use when another attachment has that, and the one of
    /// the record of an ADD that is under way.
    pub(crate) fn paths(&self, dir: &Path) -> [PathBuf; 3] {
        let common = self.common_name();
        let (second, pending) = (self.unshared('_', &common), self.unshared('~', &common));
        [common, second, pending].map(|name| dir.join(name))
    }

    fn unshared(&self, mark: char, common: &str) -> String {
        let name = format!("{mark}{}.{}.{common}", self.network.len(), self.container_id.len());
        if name.len() <= MAX_NAME_BYTES {
            return name;
        }
        // A hash may be shared, but then the content tells, as it does for Go's name.
        let kept = common.get(..KEPT_BYTES).unwrap_or_default();
        format!("{mark}{kept}.{:016x}", fnv1a(name.as_bytes()))
    }
}

/// The 64-bit FNV-1a hash. It is part of a format on disk, so it must stay the same; std's hashers promise no such thing.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(network: &'a str, container_id: &'a str, ifname: &'a str) -> Identity<'a> {
        Identity { network, container_id, ifname }
    }

    /// The second name, and that of the record of an ADD that is under way.
    fn unshared(identity: Identity<'_>) -> [String; 2] {
        let [_, second, pending] = identity.paths(Path::new(""));
        [second, pending].map(|name| name.into_os_string().into_string().unwrap())
    }

    #[test]
    fn only_the_common_name_is_shared() {
        let (one, other) = (of("a-b", "c", "eth0"), of("a", "b-c", "eth0"));
        assert_eq!(one.common_name(), other.common_name());
        assert_eq!(unshared(one), ["_3.1.a-b-c-eth0", "~3.1.a-b-c-eth0"]);
        assert_eq!(unshared(other), ["_1.3.a-b-c-eth0", "~1.3.a-b-c-eth0"]);
        // What looks like another's second name cannot be a common name: those start with a letter or digit.
        assert_eq!(of("_3.1.a-b", "c", "eth0").common_name(), "_3.1.a-b-c-eth0");
        assert!(cni_types::NetworkName::new("_3.1.a-b").is_err());
    }

    #[test]
    fn long_names_are_cut_and_stay_different() {
        let (long, longer) = ("n".repeat(170), "n".repeat(171));
        let (one, other) = (of(&long, &long[..70], "äääääää"), of(&longer, &long[..69], "äääääää"));
        assert_eq!(one.common_name().len(), 256);
        assert_eq!(one.excess(), Some(256));
        assert_eq!(of(&long, &long[..69], "äääääää").excess(), None);
        for (name, other) in unshared(one).into_iter().zip(unshared(other)) {
            assert!(name.len() <= MAX_NAME_BYTES && name.len() > KEPT_BYTES);
            assert_ne!(name, other);
        }
    }

    #[test]
    fn the_hash_is_that_of_its_definition() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
