//! What tests of plugins share: a network namespace of their own. Feature `testing`; a plugin itself never enables it.

mod netns;

pub use self::netns::TestNetns;

/// Tells that a test cannot run here, as a line `SKIPPED: why` on stderr; the test then returns.
///
/// # Panics
///
/// With `CNI_TEST_REQUIRE=1` in the environment, where nothing may be skipped.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen; this is test code")]
pub fn skip(why: &str) {
    assert!(
        std::env::var_os("CNI_TEST_REQUIRE").is_none_or(|value| value != "1"),
        "must not be skipped: {why}"
    );
    eprintln!("SKIPPED: {why}");
}
