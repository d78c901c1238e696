//! Locks between processes: each child is this test binary again, running [`child`] alone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

/// What a child is to do: a folder, then `all` or a container's ID.
const TASK: &str = "LIBCNI_UNIT_TEST_LOCK";
/// Another process that the child starts and waits for, while it has its lock.
const NESTED: &str = "LIBCNI_UNIT_TEST_NESTED";

fn locks(dir: &Path) -> Locks {
    Locks::of(dir)
}

fn soon() -> Until {
    Until::timeout(Duration::from_millis(50))
}

fn quiet(_: &Path, _: Option<u32>) {}

/// A process that takes a lock, says so, and holds it until it is told to stop or dies.
struct Holder {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Holder {
    fn start(dir: &Path, what: &str, nested: Option<&str>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "lock::tests::child", "--nocapture", "--test-threads=1"]);
        command.env(TASK, format!("{}\n{what}", dir.display()));
        command.env_remove(NESTED);
        if let Some(nested) = nested {
            command.env(NESTED, nested);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    /// Waits for what the child says next; the test harness around it says things of its own.
    fn says(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the child ended without a word");
            if let Some((_, said)) = line.trim().split_once("says: ") {
                return said.to_owned();
            }
        }
    }

    /// Lets the child go on to its next step.
    fn next(&mut self) {
        self.stdin.write_all(b"\n").unwrap();
    }

    fn stop(mut self) {
        self.next();
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Does nothing but in a child of the tests below.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (dir, what) = task.split_once('\n').unwrap();
    let locks = locks(Path::new(dir));
    let guard = match what {
        "all" => locks.all(&Until::FOREVER, &quiet),
        id => locks.container(id, &Until::FOREVER, &quiet),
    };
    let wait = || std::io::stdin().read_line(&mut String::new()).unwrap();
    match &guard {
        Ok(guard) => println!("says: has {} locks", guard._held.len()),
        Err(error) => println!("says: {error}"),
    }
    if let Ok(nested) = std::env::var(NESTED) {
        wait();
        let mut inner = Holder::start(Path::new(dir), &nested, None);
        println!("says: inner {}", inner.says());
        inner.stop();
    }
    wait();
}

#[test]
fn one_containers_operations_wait_for_each_other_and_others_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = Holder::start(dir.path(), "c1", None);
    assert_eq!(holder.says(), "has 2 locks");
    let locks = locks(dir.path());
    assert!(matches!(locks.container("c1", &soon(), &quiet), Err(LockError::Interrupted { .. })));
    drop(locks.container("c2", &soon(), &quiet).unwrap());
    assert!(matches!(locks.all(&soon(), &quiet), Err(LockError::Interrupted { .. })));
    holder.stop();
    drop(locks.container("c1", &soon(), &quiet).unwrap());
    drop(locks.all(&soon(), &quiet).unwrap());
}

#[test]
fn gc_keeps_everything_else_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = Holder::start(dir.path(), "all", None);
    assert_eq!(holder.says(), "has 1 locks");
    let locks = locks(dir.path());
    assert!(matches!(locks.container("c1", &soon(), &quiet), Err(LockError::Interrupted { .. })));
    assert!(matches!(locks.all(&soon(), &quiet), Err(LockError::Interrupted { .. })));
    holder.stop();
    drop(locks.container("c1", &soon(), &quiet).unwrap());
}

#[test]
fn locks_of_a_process_that_dies_are_free() {
    let dir = tempfile::tempdir().unwrap();
    let locks = locks(dir.path());
    for what in ["c1", "all"] {
        let mut holder = Holder::start(dir.path(), what, None);
        holder.says();
        holder.kill();
        drop(locks.container("c1", &soon(), &quiet).unwrap());
        drop(locks.all(&soon(), &quiet).unwrap());
    }
}

#[test]
fn gc_gets_its_turn_while_operations_keep_coming() {
    let dir = tempfile::tempdir().unwrap();
    let locks = &locks(dir.path());
    let (done, stop) = (&AtomicUsize::new(0), &std::sync::atomic::AtomicBool::new(false));
    thread::scope(|scope| {
        for id in ["a", "b", "c", "d"] {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    // There is always one of them at work, so that without the gate GC would never be alone.
                    let guard = locks.container(id, &Until::FOREVER, &quiet).unwrap();
                    thread::sleep(Duration::from_millis(2));
                    done.fetch_add(1, Ordering::Relaxed);
                    drop(guard);
                }
            });
        }
        while done.load(Ordering::Relaxed) < 20 {
            thread::yield_now();
        }
        let alone = locks.all(&Until::timeout(Duration::from_secs(60)), &quiet);
        stop.store(true, Ordering::Relaxed);
        alone.unwrap();
    });
}

#[test]
fn at_most_one_is_ever_inside() {
    let dir = tempfile::tempdir().unwrap();
    let locks = &locks(dir.path());
    let inside = &[AtomicUsize::new(0), AtomicUsize::new(0)];
    thread::scope(|scope| {
        for worker in 0..6 {
            scope.spawn(move || {
                for turn in 0..30 {
                    let id = (worker + turn) % 2;
                    if turn % 10 == 9 {
                        let _alone = locks.all(&Until::FOREVER, &quiet).unwrap();
                        assert!(inside.iter().all(|count| count.load(Ordering::SeqCst) == 0));
                    } else {
                        let _turn = locks.container(&format!("c{id}"), &Until::FOREVER, &quiet).unwrap();
                        assert_eq!(inside[id].fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside[id].fetch_sub(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    // Nothing is left of the containers.
    let mut names: Vec<_> =
        fs::read_dir(dir.path().join(LOCKS)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["all", "gate"]);
    assert_eq!(fs::read(dir.path().join(LOCKS).join(ALL)).unwrap(), b"");
}

#[test]
fn a_plugin_that_calls_back_does_not_wait_for_its_own_caller() {
    let dir = tempfile::tempdir().unwrap();
    let nested = LockError::Nested.to_string();
    for (outer, inner, said) in [
        ("c1", "c1", "inner has 1 locks"),
        ("c1", "c2", "inner has 2 locks"),
        ("all", "c1", "inner has 0 locks"),
        ("all", "all", "inner has 0 locks"),
        ("c1", "all", &format!("inner {nested}")),
    ] {
        let mut holder = Holder::start(dir.path(), outer, Some(inner));
        holder.says();
        holder.next();
        assert_eq!(holder.says(), said, "{outer} {inner}");
        holder.stop();
    }
}

#[test]
fn a_plugin_that_calls_back_passes_a_gc_that_waits_for_its_caller() {
    let dir = tempfile::tempdir().unwrap();
    let locks = locks(dir.path());
    let mut holder = Holder::start(dir.path(), "c1", Some("c2"));
    holder.says();
    thread::scope(|scope| {
        let gc = scope.spawn(|| locks.all(&Until::timeout(Duration::from_secs(60)), &quiet).map(drop));
        // Only once GC has the gate does it matter who may pass.
        let gate = dir.path().join(LOCKS).join(GATE);
        while LockFile::open(gate.clone()).unwrap().attempt(Mode::Shared).unwrap() {
            thread::yield_now();
        }
        assert!(matches!(locks.container("c2", &soon(), &quiet), Err(LockError::Interrupted { .. })));
        holder.next();
        assert_eq!(holder.says(), "inner has 2 locks");
        holder.stop();
        gc.join().unwrap().unwrap();
    });
}

#[test]
fn containers_whose_ids_begin_alike_at_length_share_a_lock() {
    let dir = tempfile::tempdir().unwrap();
    let locks = locks(dir.path());
    let long = "c".repeat(300);
    let _turn = locks.container(&long, &soon(), &quiet).unwrap();
    assert!(locks.container(&format!("{long}x"), &soon(), &quiet).is_err());
}

#[test]
fn a_place_that_cannot_be_written_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let error = locks(&dir.path().join("file")).container("c1", &soon(), &quiet).unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error}");
}

/// A holder in a container is process 1 there, and so is an ancestor of all here by its number.
#[test]
fn a_holder_of_another_pid_namespace_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let locks = locks(dir.path());
    let mut told = Vec::new();
    for what in ["c1", "all"] {
        let mut holder = Holder::start(dir.path(), what, None);
        holder.says();
        let name = if what == "all" { ALL } else { "c-c1" };
        fs::write(dir.path().join(LOCKS).join(name), "1 0 1").unwrap();
        let waited = std::cell::RefCell::new(&mut told);
        let waiting = |_: &Path, holder: Option<u32>| waited.borrow_mut().push(holder);
        assert!(
            matches!(locks.container("c1", &soon(), &waiting), Err(LockError::Interrupted { .. })),
            "{what}"
        );
        assert!(matches!(locks.all(&soon(), &waiting), Err(LockError::Interrupted { .. })), "{what}");
        holder.stop();
    }
    assert_eq!(told, [None; 4]);
}

#[test]
fn a_link_in_the_place_of_a_lock_file_is_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let locks = locks(dir.path());
    let victim = dir.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    for name in ["c-c1", ALL, GATE] {
        drop(locks.container("c2", &soon(), &quiet).unwrap());
        let place = dir.path().join(LOCKS).join(name);
        let _ = fs::remove_file(&place);
        std::os::unix::fs::symlink(&victim, &place).unwrap();
        let error = locks.container("c1", &soon(), &quiet).unwrap_err();
        let LockError::Unavailable { file, source } = error else { panic!("{error}") };
        assert_eq!(
            (file, source.to_string()),
            (place.clone(), "there is a symbolic link in its place".to_owned())
        );
        assert_eq!(fs::read(&victim).unwrap(), b"untouched", "{name}");
        fs::remove_file(&place).unwrap();
    }
}
