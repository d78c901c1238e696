//! What a runtime sees of a plugin that misbehaves: streams and exit status.

use std::fs::File;
use std::io::{Seek as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

/// The example of this name, which `cargo test` has built beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        program.exists(),
        "{program:?} is missing: `cargo test -p cni-skel` builds it, `--test it` alone does not"
    );
    program
}

pub(crate) fn command(program: &Path, what: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", "c1")
        .env("CNI_NETNS", "/some/netns");
    command.env("CNI_IFNAME", "eth0").env("CNI_ARGS", format!("DO={what}")).env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn answer(mut child: Child, config: &Value) -> Output {
    // A plugin that fails early need not read its stdin.
    let _ = child.stdin.take().unwrap().write_all(config.to_string().as_bytes());
    child.wait_with_output().unwrap()
}

pub(crate) fn config() -> Value {
    json!({"cniVersion": "1.0.0", "name": "n", "type": "misbehaving"})
}

fn add(what: &str) -> Output {
    answer(command(&example("misbehaving"), what).spawn().unwrap(), &config())
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn c18_stdout_belongs_to_the_protocol() {
    for (what, printed) in
        [("print", "level=info"), ("print-partial", "without an end"), ("child", "from a child")]
    {
        let output = add(what);
        assert!(output.status.success(), "{what}: {}", text(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result, json!({"cniVersion": "1.0.0"}), "{what}");
        assert!(text(&output.stderr).contains(printed), "{what}: what was printed is on stderr");
    }
}

#[track_caller]
pub(crate) fn assert_panic_is_told(output: &Output) {
    assert_panic_is_told_in("1.0.0", output);
}

#[track_caller]
fn assert_panic_is_told_in(version: &str, output: &Output) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(error["cniVersion"], version);
    assert_eq!(error["code"], 999);
    assert_eq!(error["msg"], "the plugin panicked: out of luck");
    assert!(text(&output.stderr).contains("panicked at"), "the place of the panic is on stderr");
}

#[test]
fn c19_a_panic_is_an_error_object() {
    assert_panic_is_told(&add("panic"));
    assert_panic_is_told_in("1.1.0", &add("panic-outside"));
}

#[test]
fn c19_a_panic_is_an_error_object_where_panics_abort() {
    let add = |what| answer(command(aborting_example(), what).spawn().unwrap(), &config());
    assert_panic_is_told(&add("panic"));
    assert_panic_is_told_in("1.1.0", &add("panic-outside"));
}

/// `misbehaving`, built as a release with `panic = "abort"` is; once for all tests.
pub(crate) fn aborting_example() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let target = tempfile::tempdir().unwrap();
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--locked",
                "--example",
                "misbehaving",
                "--config",
                "profile.dev.panic=\"abort\"",
            ])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "--target-dir"])
            .arg(target.path())
            .status();
        assert!(built.unwrap().success());
        let program = target.path().join("debug/examples/misbehaving");
        (target, program)
    });
    program
}

#[test]
fn c20_destructors_run_before_the_process_ends() {
    let dir = tempfile::tempdir().unwrap();
    for what in ["fail", "panic", "nothing"] {
        let marker = dir.path().join(what);
        let mut config = config();
        config["marker"] = json!(marker);
        let output = answer(command(&example("misbehaving"), what).spawn().unwrap(), &config);
        assert_eq!(output.status.code(), Some(i32::from(what != "nothing")));
        assert!(marker.exists(), "{what}");
    }
}

#[test]
fn a_reply_that_cannot_be_written_is_an_error() {
    let mut to_full_disk = command(&example("misbehaving"), "nothing");
    to_full_disk.stdout(File::options().write(true).open("/dev/full").unwrap());
    let output = answer(to_full_disk.spawn().unwrap(), &config());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write the reply"), "{}", text(&output.stderr));

    let mut to_nobody = command(&example("misbehaving"), "nothing").spawn().unwrap();
    drop(to_nobody.stdout.take());
    let output = answer(to_nobody, &config());
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn c12_version_does_not_wait_for_a_pipe_that_stays_silent() {
    let mut version = command(&example("misbehaving"), "nothing");
    version.env("CNI_COMMAND", "VERSION");
    let mut child = version.spawn().unwrap();
    // Open until the plugin is done.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(output.status.success());
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(info["cniVersion"], "1.1.0");
    // And takes a version that is there, be the pipe closed or not, however long the rest is.
    for (length, closed) in [(0, true), (0, false), (4096, false), (8192, true), (50_000, false)] {
        let (stdin, mut writer) = std::io::pipe().unwrap();
        // Before the plugin starts: it does not wait for long.
        writeln!(writer, "{}", json!({"cniVersion": "0.4.0", "long": "x".repeat(length)})).unwrap();
        let writer = Some(writer).filter(|_| !closed);
        let output = version.stdin(stdin).output().unwrap();
        drop(writer);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["cniVersion"], "0.4.0", "{length} {closed}");
    }
}

#[test]
fn version_reads_no_more_than_it_needs_of_an_endless_configuration() {
    // Up to this length the version of the request is found, and beyond it is not looked for any more.
    const LIMIT: usize = 1024 * 1024;
    for (length, answered) in [(LIMIT, "0.4.0"), (LIMIT + 1, "1.1.0")] {
        let frame = json!({"cniVersion": "0.4.0", "long": ""}).to_string().len();
        let mut file = tempfile::tempfile().unwrap();
        write!(file, "{}", json!({"cniVersion": "0.4.0", "long": "x".repeat(length - frame)})).unwrap();
        file.rewind().unwrap();
        let mut version = command(&example("misbehaving"), "nothing");
        let output = version.env("CNI_COMMAND", "VERSION").stdin(file).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["cniVersion"], answered, "{length}");
    }
}

#[test]
fn c12_by_hand_it_says_who_it_is() {
    for argument in [None, Some("-v")] {
        let mut by_hand = Command::new(example("misbehaving"));
        by_hand.env_clear().args(argument).stdin(Stdio::null());
        let output = by_hand.output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"");
        let about = text(&output.stderr);
        assert!(about.contains("does what a plugin should not") && about.contains("0.1.0, 0.2.0"), "{about}");
    }
}
