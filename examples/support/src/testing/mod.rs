//! What tests of plugins share: network namespaces of their own, a made-up kernel, scripted programs. Feature `testing`; a plugin itself never enables it.

mod kernel;
mod netns;
mod tools;

use std::io::Write as _;

pub use self::kernel::FakeKernel;
pub(crate) use self::kernel::FakeNetns;
pub use self::netns::TestNetns;
pub use self::tools::ScriptedTools;

/// Tells that a test cannot run here for want of root or a program, as a line `SKIPPED: why` on stderr; the test then
/// returns. What a kernel lacks is no reason to skip but a case to test.
///
/// # Panics
///
/// With `CNI_TEST_REQUIRE=1` in the environment, where nothing may be skipped.
pub fn skip(why: &str) {
    assert!(
        std::env::var_os("CNI_TEST_REQUIRE").is_none_or(|value| value != "1"),
        "must not be skipped: {why}"
    );
    // To the stream itself: the test runner keeps what `eprintln!` prints to itself if the test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
