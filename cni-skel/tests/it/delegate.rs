//! Delegation seen from outside: a plugin's process that runs another's.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use cni_invoke::{
    CancelToken, Environment, Exec as _, Interruption, Invocation, ProcessExec, RunError, Until,
};
use cni_skel::types::{Command, PluginType};

use crate::process::{aborting_example, assert_panic_is_told, command, example, text};

/// A directory with a delegate, which is a shell script that knows the directory as `$DIR`.
struct Ipam {
    dir: tempfile::TempDir,
}

/// Writes down what it is called with.
const RECORDING: &str = r#"
echo "$CNI_COMMAND $CNI_IFNAME" >> "$DIR/calls"
cat > "$DIR/stdin.$CNI_COMMAND"
echo "$CNI_COMMAND is done" >&2
if [ "$CNI_COMMAND" = ADD ]; then echo '{"cniVersion":"1.0.0","ips":[{"address":"10.1.0.5/16"}]}'; fi"#;

/// Laid out as no serializer would.
const CONFIG: &str = "{ \"cniVersion\" : \"1.0.0\",\n\t\"name\":\"n\", \"type\":\"misbehaving\", \"big\":9007199254740993,\n \"ipam\":{\"type\":\"ipam\",\"x\":1.0} }\n";

impl Ipam {
    fn new(script: &str) -> Self {
        let this = Self { dir: tempfile::tempdir().unwrap() };
        fs::write(this.at("ipam"), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(this.at("ipam"), fs::Permissions::from_mode(0o755)).unwrap();
        this
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.at("calls")).unwrap_or_default()
    }

    /// Runs a plugin that delegates to it.
    fn add(&self, program: &Path, what: &str) -> Output {
        let mut command = command(program, what);
        let mut child = command.env("CNI_PATH", self.dir.path()).env("DIR", self.dir.path()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(CONFIG.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

#[test]
fn a_delegate_gets_stdin_byte_for_byte_and_its_stderr_is_passed_on() {
    let ipam = Ipam::new(RECORDING);
    let output = ipam.add(&example("misbehaving"), "nothing");
    assert!(output.status.success(), "{output:?}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["ips"][0]["address"], "10.1.0.5/16");
    assert_eq!(fs::read_to_string(ipam.at("stdin.ADD")).unwrap(), CONFIG);
    assert_eq!(ipam.calls(), "ADD eth0\n");
    assert_eq!(text(&output.stderr), "ADD is done\n");
}

#[test]
fn c87_a_panic_gives_back_what_the_delegate_gave_be_it_unwinding_or_not() {
    for program in [&example("misbehaving"), aborting_example()] {
        let ipam = Ipam::new(RECORDING);
        let output = ipam.add(program, "panic-with-lease");
        assert_panic_is_told(&output);
        assert_eq!(ipam.calls(), "ADD eth0\nDEL eth0\n", "{program:?}");
        assert_eq!(fs::read_to_string(ipam.at("stdin.DEL")).unwrap(), CONFIG);
    }
}

#[test]
fn c26_a_runtime_that_kills_a_plugin_reaches_its_delegate() {
    let ipam = Ipam::new(r#"exec 3> "$DIR/life"; exec sleep 1000"#);
    let mkfifo = std::process::Command::new("mkfifo").arg(ipam.at("life")).status();
    assert!(mkfifo.unwrap().success());
    let (plugin, program) = (PluginType::new("misbehaving").unwrap(), example("misbehaving"));
    let dir = ipam.dir.path().to_str().unwrap();
    let environment: Environment = [
        ("CNI_COMMAND", "ADD"),
        ("CNI_CONTAINERID", "c1"),
        ("CNI_NETNS", "/some/netns"),
        ("CNI_IFNAME", "eth0"),
        ("CNI_PATH", dir),
        ("DIR", dir),
        ("PATH", "/usr/bin:/bin"),
    ]
    .into_iter()
    .collect();
    let token = CancelToken::new().unwrap();
    let until = Until::FOREVER.or_cancelled(&token);
    let invocation = Invocation::new(&plugin, &program, Command::Add, &environment);
    let invocation = invocation.with_stdin(CONFIG.as_bytes()).with_until(&until);
    let error = std::thread::scope(|scope| {
        let run = scope.spawn(|| ProcessExec::new().with_stderr(|_| {}).run(&invocation).unwrap_err());
        // Waits until the delegate runs, and after the kill until it is dead.
        let mut life = fs::File::open(ipam.at("life")).unwrap();
        token.cancel();
        assert_eq!(life.read(&mut [0]).unwrap(), 0);
        run.join().unwrap()
    });
    assert!(matches!(error, RunError::Interrupted { why: Interruption::Cancelled, .. }), "{error:?}");
}
