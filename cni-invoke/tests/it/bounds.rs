//! Deadlines and cancellation: everything is killed, nobody is waited for.

use std::fs::File;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use cni_invoke::{CancelToken, Interruption, ProcessExec, RunError, Until, add};

use crate::plugin::{Plugin, quiet};

/// Prints, and then lives on with a child; both hold the pipe `life` open for writing.
const STUBBORN: &str =
    r#"trap '' TERM INT HUP; exec 3> "$DIR/life"; echo out; echo err >&2; sleep 1000 & wait; sleep 1000"#;

fn stubborn() -> Plugin {
    Plugin::script(STUBBORN).with_fifo("life")
}

/// Waits until the plugin has opened `life`, does something, and then waits until everything that held it is dead.
fn until_all_are_dead(plugin: &Plugin, then: impl FnOnce()) {
    let mut life = File::open(plugin.at("life")).unwrap();
    then();
    assert_eq!(life.read(&mut [0]).unwrap(), 0);
}

#[test]
fn c26_cancelling_kills_the_whole_group() {
    let (plugin, token) = (stubborn(), CancelToken::new().unwrap());
    let until = Until::timeout(Duration::from_secs(600)).or_cancelled(&token);
    let error = std::thread::scope(|scope| {
        let run = scope.spawn(|| add(&quiet(), &plugin.request().until(&until)).unwrap_err());
        until_all_are_dead(&plugin, || token.cancel());
        run.join().unwrap()
    });
    assert_eq!(error.interruption(), Some(Interruption::Cancelled));
    assert!(error.was_started());
    assert!(error.to_string().contains(" did not finish ADD: stdout \""), "{error}");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "killed: the caller cancelled");
}

#[test]
fn c26_a_deadline_kills_the_whole_group() {
    let plugin = stubborn();
    let until = Until::timeout(Duration::from_millis(300));
    std::thread::scope(|scope| {
        // On a slow machine the deadline may come before the plugin opens the pipe; then nobody ever does.
        let writer = File::options().read(true).write(true).open(plugin.at("life")).unwrap();
        let run = scope.spawn(|| plugin.run(&quiet(), b"", &until).unwrap_err());
        let error = run.join().unwrap();
        assert!(
            matches!(error, RunError::Interrupted { why: Interruption::DeadlineExceeded, .. }),
            "{error:?}"
        );
        until_all_are_dead(&plugin, || drop(writer));
    });
}

#[test]
fn c26_a_group_that_holds_the_pipes_beyond_the_death_of_the_plugin_is_not_waited_for() {
    if !crate::plugin::has_tool("setsid") {
        return;
    }
    // The grandchild leaves the group, so that it survives with both streams open.
    let script = r#"setsid sh -c 'echo $$ > "$DIR/pid"; echo > "$DIR/ready"; exec sleep 1000' & wait"#;
    let plugin = Plugin::script(script).with_fifo("ready");
    let token = CancelToken::new().unwrap();
    let until = Until::FOREVER.or_cancelled(&token);
    let error = std::thread::scope(|scope| {
        let run = scope.spawn(|| plugin.run(&quiet(), b"", &until).unwrap_err());
        std::fs::read(plugin.at("ready")).unwrap();
        token.cancel();
        run.join().unwrap()
    });
    assert!(matches!(error, RunError::Interrupted { why: Interruption::Cancelled, .. }), "{error:?}");
    let survivor: i32 = std::fs::read_to_string(plugin.at("pid")).unwrap().trim().parse().unwrap();
    let survivor = rustix::process::Pid::from_raw(survivor).unwrap();
    rustix::process::kill_process(survivor, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn c27_what_is_over_before_it_begins_is_not_executed() {
    let plugin = Plugin::script(r#"touch "$DIR/ran"; echo '{}'"#);
    let token = CancelToken::new().unwrap();
    token.cancel();
    for (until, why) in [
        (Until::FOREVER.or_cancelled(&token), Interruption::Cancelled),
        (Until::deadline(Instant::now()), Interruption::DeadlineExceeded),
        (Until::timeout(Duration::ZERO), Interruption::DeadlineExceeded),
    ] {
        let error = cni_invoke::del(&quiet(), &plugin.request().until(&until)).unwrap_err();
        assert_eq!((error.interruption(), error.was_started()), (Some(why), false));
        assert!(error.to_string().ends_with(" was not executed for DEL"), "{error}");
    }
    assert!(!plugin.at("ran").exists());
    let fresh = Until::timeout(Duration::MAX);
    cni_invoke::del(&quiet(), &plugin.request().until(&fresh)).unwrap();
    assert!(plugin.at("ran").exists());
}

#[test]
fn a_delegate_is_killed_at_its_own_bound_without_its_callers_group() {
    let plugin = Plugin::script(r#"exec 3> "$DIR/life"; exec sleep 1000"#).with_fifo("life");
    let token = CancelToken::new().unwrap();
    let until = Until::FOREVER.or_cancelled(&token);
    let error = std::thread::scope(|scope| {
        let run = scope.spawn(|| plugin.run(&ProcessExec::for_delegates(), b"", &until).unwrap_err());
        until_all_are_dead(&plugin, || token.cancel());
        run.join().unwrap()
    });
    // That this test is still alive shows the rest.
    assert!(matches!(error, RunError::Interrupted { .. }), "{error:?}");
}

#[test]
fn a_panic_while_a_plugin_runs_does_not_leave_it_running() {
    let plugin = stubborn();
    let exec = ProcessExec::new().with_stderr(|_| panic!("the sink is broken"));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| plugin.run(&exec, b"", &Until::FOREVER))));
        until_all_are_dead(&plugin, || {});
        assert!(run.join().unwrap().is_err());
    });
}
