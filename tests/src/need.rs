//! What a test needs from the machine, and what happens where it is missing: the test says `SKIPPED: <why>` and
//! returns, or fails where `CNI_TEST_REQUIRE=1` promises that everything is there.

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where programs are looked for, also by everything that runs in a private host. `sbin` belongs to it: not
/// every shell that starts a test run has it in its `PATH`.
pub const PROGRAM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Skips the running test: the caller returns after it.
///
/// # Panics
///
/// Where `CNI_TEST_REQUIRE` is `1`.
pub fn skip(why: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("test");
    assert!(std::env::var_os("CNI_TEST_REQUIRE").is_none_or(|value| value != "1"), "required, but {why}");
    // To the stream itself: what `println!` prints is swallowed by the test runner when the test passes. In one
    // write: tests run side by side.
    let line = format!("SKIPPED: {why} ({test})\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Whether the test runs as root; says why not.
///
/// # Errors
///
/// The reason to give to [`skip`].
pub fn root() -> Result<(), String> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err("needs root".to_owned()) }
}

/// The path of the program `name`.
///
/// # Errors
///
/// The reason to give to [`skip`].
pub fn program(name: &str) -> Result<PathBuf, String> {
    PROGRAM_PATH
        .split(':')
        .map(|dir| Path::new(dir).join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("needs the program `{name}`"))
}
