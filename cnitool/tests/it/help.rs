//! Help, versions, completions, the manual, and colours.

use std::process::{Command, Stdio};

use crate::support::{Host, skip};

/// The commands that `--help` lists.
fn commands(help: &str) -> Vec<&str> {
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let names =
        list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn help_teaches_by_example() {
    let host = Host::new();
    let help = host.cnitool(&["--help"]).good().stdout;
    insta::assert_snapshot!("help", help);
    let commands = commands(&help);
    assert!(commands.contains(&"add") && commands.contains(&"completions"), "{commands:?}");
    for command in commands {
        let help = host.cnitool(&[command, "--help"]).good().stdout;
        assert!(help.contains("Examples:\n") && help.contains(&format!("cnitool {command}")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 120), "{help}");
        insta::assert_snapshot!(format!("help_{command}"), help);
        assert_eq!(help, host.cnitool(&["help", command]).good().stdout);
    }
}

#[test]
fn what_cannot_be_typed_is_told_with_the_way_out() {
    let host = Host::new();
    let mut told = String::new();
    let lines: [&[&str]; 9] = [
        &["ad"],
        &["add"],
        &["add", "n1"],
        &["add", "n1", "/run/netns/t", "more"],
        &["add", "n1", "/run/netns/t", "--ifnam", "eth1"],
        &["add", "n1", "/run/netns/t", "--trace=xml"],
        &["add", "n1", "/run/netns/t", "--json=yes"],
        &["gc"],
        &["conformance", "bridge"],
    ];
    for arguments in lines {
        let outcome = host.cnitool(arguments).bad(2);
        assert!(outcome.stdout.is_empty(), "{outcome}");
        told += &format!("$ cnitool {}\n{}\n", arguments.join(" "), outcome.stderr);
    }
    insta::assert_snapshot!("what_cannot_be_typed", told);
}

#[test]
fn the_version_names_those_of_the_spec() {
    let told = Host::new().cnitool(&["--version"]).good().stdout;
    assert_eq!(
        told,
        format!(
            "cnitool {}\nCNI spec 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0\n",
            env!("CARGO_PKG_VERSION")
        )
    );
}

#[test]
fn shells_complete_commands_and_flags() {
    let host = Host::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = host.cnitool(&["completions", shell]).good().stdout;
        assert!(script.contains("attachments") && script.contains("cap-args"), "{script}");
    }
    // Go's tool has it in the singular.
    host.cnitool(&["completion", "bash"]).good();
    let outcome = host.cnitool(&["completions", "dosh"]).bad(2);
    assert!(outcome.stderr.contains("[possible values: bash,"), "{outcome}");
}

#[test]
fn bash_takes_the_script() {
    let host = Host::new();
    host.write("script", &host.cnitool(&["completions", "bash"]).good().stdout);
    let ask = "source ./script; COMP_WORDS=(cnitool at); COMP_CWORD=1; _cnitool cnitool at cnitool; echo \"${COMPREPLY[*]}\"";
    let Ok(told) = Command::new("bash").args(["-c", ask]).current_dir(host.path("")).output() else {
        return skip("needs bash");
    };
    assert_eq!(String::from_utf8_lossy(&told.stdout), "attachments\n");
}

#[test]
fn there_is_a_manual() {
    let host = Host::new();
    let page = host.cnitool(&["man"]).good().stdout;
    assert!(page.contains(".TH cnitool 1") && page.contains(".SH SUBCOMMANDS"), "{page}");
    let page = host.cnitool(&["man", "add"]).good().stdout;
    assert!(
        page.contains("cnitool\\-add \\- Attach a network namespace") && page.contains("Examples:"),
        "{page}"
    );
    insta::assert_snapshot!(host.cnitool(&["man", "x"]).bad(2).stderr, @r#"error: COMMAND: there is no command "x""#);
}

/// Runs the program on a terminal, if there is `script` to make one.
fn on_a_terminal(host: &Host, variables: &[(&str, &str)]) -> Option<String> {
    let program = format!("{} list", env!("CARGO_BIN_EXE_cnitool"));
    let mut command = Command::new("script");
    command.args(["-qec", &program, "/dev/null"]).stdin(Stdio::null()).current_dir(host.path(""));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("NETCONFPATH", host.path("net.d")).env("TERM", "xterm").envs(variables.iter().copied());
    let told = command.output().ok()?;
    told.status.success().then(|| String::from_utf8_lossy(&told.stdout).into_owned())
}

#[test]
fn only_a_terminal_gets_colours_and_not_against_the_users_will() {
    let host = Host::new();
    host.network("n1", &["bridge"]);
    assert!(!host.cnitool(&["list"]).good().stdout.contains('\x1b'));
    let Some(told) = on_a_terminal(&host, &[]) else {
        return skip("needs script");
    };
    assert!(told.contains("\x1b[1m") && told.contains("NETWORK"), "{told:?}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let told = on_a_terminal(&host, &[variable]).unwrap();
        assert!(!told.contains('\x1b') && told.contains("NETWORK"), "{told:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_reason_to_complain() {
    let host = Host::new();
    host.network("n1", &["bridge"]);
    let mut child = host.command(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    // It may have been quicker than the pipe was closed.
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let host = Host::new();
    host.network("n1", &["bridge"])
        .plugin("bridge", &[("ADD", r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#)]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = host.command(&["add", "n1", "/run/netns/t"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot write to stdout: No space left on device (os error 28)\n"
    );
}
