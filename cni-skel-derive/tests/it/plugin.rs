//! What a plugin declares is what its constants say.

use cni_skel::{CniPlugin, CniVersion};

#[derive(CniPlugin)]
#[cni(name = "bare")]
struct Bare;

#[test]
fn a_name_is_enough() {
    assert_eq!(Bare::NAME, "bare");
    assert_eq!(Bare::ABOUT, "CNI plugin bare");
    assert_eq!(Bare::VERSION, env!("CARGO_PKG_VERSION"));
    assert_eq!(Bare::VERSIONS, CniVersion::ALL);
    const { assert!(!Bare::DENY_UNKNOWN_KEYS) };
}

/// Says hello, and
/// goodbye.
///
/// More than a line.
#[derive(CniPlugin)]
#[cni(name = "documented")]
struct Documented;

/**
 * Says hello.
 */
#[derive(CniPlugin)]
#[cni(name = "block", deny_unknown_keys)]
struct Block;

/// Not this.
#[derive(CniPlugin)]
#[cni(name = "told", about = "says hello", version = "1.2.0-rc1")]
struct Told;

#[test]
fn a_doc_comment_is_about_the_plugin() {
    assert_eq!(Documented::ABOUT, "Says hello, and goodbye.");
    assert_eq!(Block::ABOUT, "Says hello.");
    assert_eq!(Told::ABOUT, "says hello");
    assert_eq!(Told::VERSION, "1.2.0-rc1");
    const { assert!(Block::DENY_UNKNOWN_KEYS) };
}

#[test]
fn versions_are_one_a_list_or_a_range() {
    macro_rules! versions {
        ($versions:tt) => {{
            #[derive(CniPlugin)]
            #[cni(name = "versioned", versions = $versions)]
            struct Versioned;
            Versioned::VERSIONS.iter().map(|version| version.as_str()).collect::<Vec<_>>()
        }};
    }
    assert_eq!(versions!("1.0.0"), ["1.0.0"]);
    assert_eq!(versions!(["0.4.0", "1.1.0"]), ["0.4.0", "1.1.0"]);
    assert_eq!(versions!(["0.2.0"]), ["0.2.0"]);
    assert_eq!(versions!("0.3.1..=1.0.0"), ["0.3.1", "0.4.0", "1.0.0"]);
    assert_eq!(versions!("0.4.0..=0.4.0"), ["0.4.0"]);
    assert_eq!(versions!("0.4.0 ..= 1.0.0"), ["0.4.0", "1.0.0"]);
    assert_eq!(versions!("0.4.0.."), ["0.4.0", "1.0.0", "1.1.0"]);
    assert_eq!(versions!("..=0.3.0"), ["0.1.0", "0.2.0", "0.3.0"]);
}
