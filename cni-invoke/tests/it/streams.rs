//! stdin, stdout and stderr of any size, in any order, closed early or held open for ever.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use cni_invoke::{ProcessExec, RunError, Tail, Until};

use crate::plugin::{Plugin, quiet};

const LARGE: usize = 8 << 20;

#[test]
fn large_input_and_output_do_not_block_each_other() {
    let stdin: Vec<u8> = (0..LARGE).map(|at| b'a' + (at % 23) as u8).collect();
    let output = Plugin::script("exec cat").run(&quiet(), &stdin, &Until::FOREVER).unwrap();
    assert!(output.exit.is_success());
    assert!(output.stdout == stdin);
}

#[test]
fn a_plugin_need_not_read_its_stdin() {
    let stdin = vec![b'x'; LARGE];
    for script in ["echo '{}'", "exec <&-; echo '{}'", "head -c 10 > /dev/null; echo '{}'"] {
        let output = Plugin::script(script).run(&quiet(), &stdin, &Until::FOREVER).unwrap();
        assert_eq!((output.exit.is_success(), &output.stdout[..]), (true, &b"{}\n"[..]), "{script}");
    }
}

#[test]
fn closed_streams_are_not_taken_for_the_end() {
    let plugin = Plugin::script(r#"exec >&- 2>&-; cat > "$DIR/stdin"; exit 3"#);
    let output = plugin.run(&quiet(), b"config", &Until::FOREVER).unwrap();
    assert_eq!(output.exit, cni_invoke::Exit::Code(3));
    assert_eq!(std::fs::read(plugin.at("stdin")).unwrap(), b"config");
}

#[test]
fn output_up_to_the_limit_is_taken_and_more_is_an_error() {
    let exec = quiet().with_stdout_limit(100_000);
    let output = Plugin::script("head -c 100000 /dev/zero").run(&exec, b"", &Until::FOREVER).unwrap();
    assert_eq!(output.stdout.len(), 100_000);
    for script in ["head -c 100001 /dev/zero", "exec yes"] {
        let error = Plugin::script(script).run(&exec, b"", &Until::FOREVER).unwrap_err();
        assert!(matches!(error, RunError::OutputTooLarge { limit: 100_000, .. }), "{script}: {error:?}");
        assert_eq!(error.to_string(), "it printed more than 100000 bytes on stdout");
        assert!(error.printed().is_some_and(|printed| printed.stdout.omitted() > 0));
    }
}

#[test]
fn what_is_still_in_the_pipes_at_the_end_is_taken() {
    if !crate::plugin::has_tool("perl") {
        return;
    }
    // With pipes of a megabyte (F_SETPIPE_SZ is 1031) all of it can be there when the process is gone.
    let print = r#"fcntl(STDOUT, 1031, 1 << 20); fcntl(STDERR, 1031, 1 << 20); syswrite(STDOUT, "x" x 600000); syswrite(STDERR, "y" x 600000)"#;
    let seen = Arc::new(Mutex::new(0));
    let exec = ProcessExec::new().with_stderr({
        let seen = Arc::clone(&seen);
        move |part| *seen.lock().unwrap() += part.len()
    });
    let output = Plugin::script(&format!("exec perl -e '{print}'")).run(&exec, b"", &Until::FOREVER).unwrap();
    assert_eq!(
        (output.exit.is_success(), output.stdout.len(), *seen.lock().unwrap()),
        (true, 600_000, 600_000)
    );
}

#[test]
fn stderr_is_passed_on_as_it_comes() {
    let plugin =
        Plugin::script(r#"echo ready >&2; cat "$DIR/go" > /dev/null; echo done >&2"#).with_fifo("go");
    let (go, seen) = (plugin.at("go"), Arc::new(Mutex::new(Vec::new())));
    let exec = ProcessExec::new().with_stderr({
        let seen = Arc::clone(&seen);
        move |part| {
            seen.lock().unwrap().extend_from_slice(part);
            // The plugin waits for this, so it does not come unless the part came before the end.
            if part == b"ready\n" {
                File::options().write(true).open(&go).unwrap().write_all(b"go").unwrap();
            }
        }
    });
    let output = plugin.run(&exec, b"", &Until::FOREVER).unwrap();
    assert_eq!(*seen.lock().unwrap(), b"ready\ndone\n");
    assert_eq!(output.stderr, Tail::from("ready\ndone\n"));
}

#[test]
fn all_of_a_long_stderr_is_passed_on_and_its_end_is_kept() {
    let seen = Arc::new(Mutex::new(0));
    let exec = ProcessExec::new().with_stderr({
        let seen = Arc::clone(&seen);
        move |part| *seen.lock().unwrap() += part.len()
    });
    let plugin = Plugin::script("head -c 1000000 /dev/zero >&2; echo last words >&2; exit 1");
    let output = plugin.run(&exec, b"", &Until::FOREVER).unwrap();
    assert_eq!(*seen.lock().unwrap(), 1_000_011);
    assert_eq!(output.stderr.bytes().len(), Tail::CAPACITY);
    assert!(output.stderr.bytes().ends_with(b"\0last words\n"));
    assert_eq!(output.stderr.omitted(), 1_000_011 - Tail::CAPACITY as u64);
}

#[test]
fn c26_a_daemon_that_holds_the_streams_does_not_hold_the_caller() {
    // The daemon lives as long as somebody holds the pipe open for writing, which is this test.
    let plugin =
        Plugin::script(r#"(read -r line) < "$DIR/life" & echo '{"cniVersion":"1.0.0"}'; echo log >&2"#);
    let plugin = plugin.with_fifo("life");
    // For reading, too: then the open does not wait for the daemon.
    let life = File::options().read(true).write(true).open(plugin.at("life")).unwrap();
    let result = cni_invoke::add(&quiet(), &plugin.request()).unwrap();
    assert_eq!(result.version().as_str(), "1.0.0");
    drop(life);
}

#[test]
fn c26_a_daemon_that_prints_for_ever_does_not_hold_the_caller() {
    let plugin = Plugin::script("yes & yes >&2 & echo done; exit 5");
    let output = plugin.run(&quiet(), b"", &Until::FOREVER).unwrap();
    assert_eq!(output.exit, cni_invoke::Exit::Code(5));
}
