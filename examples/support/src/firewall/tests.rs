use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A directory with a program that is this shell script.
fn with_program(name: &str, script: &str) -> (tempfile::TempDir, SystemTools) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let tools = SystemTools::in_directories([dir.path().to_owned()]);
    (dir, tools)
}

#[test]
fn arguments_and_stdin_reach_the_program_as_they_are() {
    let (_dir, tools) = with_program("tool", r#"printf '<%s>' "$@"; cat; echo "$LC_ALL" >&2"#);
    let call = Call::new("tool", ["a b", "$(id)", "", "*"]).stdin("line\n");
    let outcome = tools.run(&call).unwrap();
    assert!(outcome.success);
    assert_eq!(outcome.stdout, "<a b><$(id)><><*>line\n");
    assert_eq!(outcome.stderr, "C\n");
    assert_eq!(call.to_string(), r#"tool "a b" $(id) "" *"#);
}

#[test]
fn more_than_a_pipe_holds_goes_both_ways() {
    let (_dir, tools) = with_program("tool", "cat; exit 3");
    let stdin = "0123456789abcdef".repeat(64 * 1024);
    let outcome = tools.run(&Call::new("tool", ["x"]).stdin(stdin.clone())).unwrap();
    assert!(!outcome.success);
    assert_eq!((outcome.status.as_str(), outcome.stdout == stdin), ("exit status: 3", true));
}

#[test]
fn output_without_end_is_an_error_that_says_the_limit() {
    for (stream, redirection) in [("stdout", ""), ("stderr", " >&2")] {
        // Ended by the pipe that nobody reads any more.
        let (_dir, tools) = with_program("tool", &format!("exec cat /dev/zero{redirection}"));
        let error = tools.run(&Call::new("tool", ["x"])).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap();
        assert_eq!(
            format!("{error}: {cause}"),
            format!("failed to run tool x: its {stream} is larger than 67108864 bytes")
        );
    }
}

#[test]
fn a_program_gets_no_more_of_the_environment_than_it_needs() {
    let (_dir, tools) = with_program("tool", "exec env");
    let outcome = tools.run(&Call::new("tool", ["x"])).unwrap();
    // PWD and the like are the shell's.
    let names = outcome.stdout.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    let others = names
        .filter(|name| !KEPT.contains(name) && !["LC_ALL", "OLDPWD", "PWD", "SHLVL", "_"].contains(name));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0], "of what cargo gives to tests, nothing");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(outcome.stdout.contains("PATH=") && outcome.stdout.contains("LC_ALL=C\n"), "{}", outcome.stdout);
}

#[test]
fn a_program_gets_what_it_needs_of_the_environment() {
    const NAME: &str = "firewall::tests::a_program_gets_what_it_needs_of_the_environment";
    const NEEDED: [&str; 3] = ["DBUS_SYSTEM_BUS_ADDRESS", "XTABLES_LIBDIR", "XTABLES_LOCKFILE"];
    if NEEDED.iter().any(|name| std::env::var_os(name).is_none()) {
        // Again, in an environment that has them.
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again
            .args(["--exact", NAME, "--nocapture"])
            .envs(NEEDED.map(|name| (name, name)))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{output:?}");
        return;
    }
    let (_dir, tools) = with_program("tool", "exec env");
    let outcome = tools.run(&Call::new("tool", ["x"])).unwrap();
    for name in NEEDED {
        let expected = format!("{name}={}", std::env::var(name).unwrap());
        assert!(outcome.stdout.lines().any(|line| line == expected), "{name}: {}", outcome.stdout);
    }
}

#[test]
fn a_program_that_writes_on_although_nobody_reads_is_killed() {
    // The other stream stays open as long as the program lives.
    for flood in ["printf %65536s 2>/dev/null", "printf %65536s 2>/dev/null >&3"] {
        let (_dir, tools) =
            with_program("tool", &format!("exec 3>&2; trap '' PIPE; while :; do {flood}; done"));
        let error = tools.run(&Call::new("tool", ["x"])).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("is larger than"), "{error}");
    }
}

#[test]
fn a_program_need_not_read_its_stdin() {
    let (_dir, tools) = with_program("tool", "exec 0<&-; echo done");
    let outcome = tools.run(&Call::new("tool", ["x"]).stdin("x".repeat(1 << 20))).unwrap();
    assert_eq!((outcome.success, outcome.stdout.as_str()), (true, "done\n"));
}

#[test]
fn a_failure_has_the_command_line_the_status_and_stderr() {
    let (_dir, tools) = with_program("tool", "echo 'no way' >&2; exit 4");
    let error = Call::new("tool", ["-x"]).succeed(&tools).unwrap_err();
    assert_eq!(error.to_string(), "failed to run tool -x: exit status: 4: no way");
    let (_dir, tools) = with_program("tool", "kill -9 $$");
    let error = Call::new("tool", ["-x"]).succeed(&tools).unwrap_err();
    assert_eq!(error.to_string(), "failed to run tool -x: signal: 9 (SIGKILL)");
}

#[test]
fn a_missing_program_is_told_with_the_directories() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tool"), "not executable").unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    let twice = [dir.path().to_owned(), dir.path().to_owned()];
    for tool in ["tool", "folder", "nothing"] {
        let error = SystemTools::in_directories(twice.clone()).run(&Call::new(tool, ["x"])).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to find {tool:?} in [{:?}]", dir.path()));
    }
}

#[test]
fn sbin_is_searched_even_if_path_lacks_it() {
    let tools = SystemTools::default();
    for directory in SBIN {
        assert!(tools.directories.contains(&PathBuf::from(directory)));
    }
}
