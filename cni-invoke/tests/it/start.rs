//! What a plugin is started with, and plugins that cannot be started.

use std::fs::File;
use std::time::Duration;

use cni_invoke::{Environment, Exec as _, Invocation, ProcessExec, RunError, Until};
use cni_types::{Command, ErrorObject, PluginType};

use crate::plugin::{Plugin, quiet};

#[test]
fn the_environment_is_the_one_given_and_nothing_else() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt as _;

    let plugin = PluginType::new("env").unwrap();
    let program = ["/usr/bin/env", "/bin/env"]
        .map(std::path::Path::new)
        .into_iter()
        .find(|path| path.exists())
        .unwrap();
    let mut environment: Environment = [("A", "1"), ("CNI_ARGS", ""), ("A", "2")].into_iter().collect();
    environment.set("RAW", OsStr::from_bytes(b"\xff"));
    let invocation = Invocation::new(&plugin, program, Command::Add, &environment);
    let output = quiet().run(&invocation).unwrap();
    let mut lines: Vec<_> =
        output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [&b"A=2"[..], b"CNI_ARGS=", b"RAW=\xff"]);

    let nul = Environment::from_iter([(OsString::from("A"), OsString::from("1\0"))]);
    let error = quiet().run(&Invocation::new(&plugin, program, Command::Add, &nul)).unwrap_err();
    assert!(matches!(error, RunError::Start { .. }), "{error:?}");
}

#[test]
fn a_plugin_has_a_group_of_its_own_and_a_delegate_that_of_its_caller() {
    let plugin = Plugin::script("read -r pid comm state ppid pgrp rest < /proc/self/stat; echo $pgrp $$");
    let numbers = |exec: &ProcessExec| -> Vec<i32> {
        let output = plugin.run(exec, b"", &Until::FOREVER).unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .split_whitespace()
            .map(|text| text.parse().unwrap())
            .collect()
    };
    let own = numbers(&quiet());
    assert_eq!(own[0], own[1]);
    let delegate = numbers(&ProcessExec::for_delegates());
    assert_eq!(delegate[0], rustix::process::getpgrp().as_raw_nonzero().get());
}

#[test]
fn a_file_that_stays_busy_is_an_error_that_says_so() {
    let plugin = Plugin::script("echo '{}'");
    let writer = File::options().append(true).open(plugin.program()).unwrap();
    let patience = Duration::from_millis(30);
    let error = plugin.run(&quiet().with_busy_patience(patience), b"", &Until::FOREVER).unwrap_err();
    assert!(matches!(error, RunError::Busy { waited, .. } if waited == patience), "{error:?}");
    assert_eq!(error.to_string(), "cannot start it: the file was still open for writing after 30 ms");
    drop(writer);
    let stdin = "x".repeat(1 << 20);
    assert!(plugin.run(&quiet(), stdin.as_bytes(), &Until::FOREVER).unwrap().exit.is_success());
}

#[test]
fn what_cannot_be_started_is_told_with_the_cause() {
    for (content, mode, cause) in [
        ("#!/bin/sh\n", 0o644, "cannot start it: Permission denied (os error 13)"),
        (
            "echo {}\n",
            0o755,
            "cannot start it: neither a program of this machine nor a script that starts with '#!': \
             Exec format error (os error 8)",
        ),
        (
            "#!/no/such/interpreter\n",
            0o755,
            "cannot start it: its interpreter, as the first line or the ELF header names it, does not exist: \
             No such file or directory (os error 2)",
        ),
    ] {
        let plugin = Plugin::file(content, mode);
        let error = plugin.run(&quiet(), b"", &Until::FOREVER).unwrap_err();
        assert!(!error.was_started());
        assert_eq!(format!("{error}: {}", std::error::Error::source(&error).unwrap()), cause);
    }
    let plugin = Plugin::script("");
    let (name, program) = (PluginType::new("t").unwrap(), plugin.program());
    let environment: Environment = [("CNI_ARGS", "x".repeat(1 << 20))].into_iter().collect();
    let invocation = Invocation::new(&name, &program, Command::Add, &environment);
    let error = quiet().run(&invocation).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start it: an environment variable, or all of them together, are too long"
    );
    std::fs::remove_file(plugin.program()).unwrap();
    let error = plugin.run(&quiet(), b"", &Until::FOREVER).unwrap_err();
    assert_eq!(error.to_string(), "cannot start it");
}

#[test]
fn c28_a_plugin_that_is_not_there_is_told_with_where_it_was_looked_for() {
    let plugin = Plugin::script("").with_var("CNI_PATH", "/no/such/dir");
    let error = cni_invoke::add(&quiet(), &plugin.request()).unwrap_err();
    assert_eq!(
        ErrorObject::from(error).msg,
        "plugin \"t\" was not executed for ADD: failed to find plugin \"t\" in path [/no/such/dir]: \"/no/such/dir\" (no such directory)"
    );
}

#[test]
fn c29_only_a_regular_file_directly_inside_a_directory_is_run() {
    let plugin = Plugin::file("", 0o755);
    std::fs::remove_file(plugin.program()).unwrap();
    std::fs::create_dir(plugin.program()).unwrap();
    let error = cni_invoke::add(&quiet(), &plugin.request()).unwrap_err();
    assert!(ErrorObject::from(&error).msg.ends_with("(not a regular file)"), "{error}");
    for path in ["../../sbin/reboot", "../x", "..", "/bin/sh", ""] {
        assert!(PluginType::new(path).is_err(), "{path:?}");
    }
}
