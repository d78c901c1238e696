use std::cell::RefCell;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::until::{CancelToken, Interruption};

/// A script that lies in a directory of its own.
fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plugin");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
}

#[test]
fn a_busy_file_is_tried_until_it_is_free() {
    let (_dir, path) = script("#!/bin/sh\nexit 7\n");
    let mut writer = Some(File::options().append(true).open(&path).unwrap());
    let mut attempts = 0;
    let mut child = retry_while_busy(ProcessExec::BUSY_PATIENCE, &Until::FOREVER, || {
        attempts += 1;
        if attempts == 3 {
            writer.take();
        }
        Command::new(&path).spawn()
    })
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(attempts >= 3, "{attempts} attempts");
}

#[test]
fn the_waits_double_and_add_up_to_the_patience() {
    for (patience, attempts_expected) in
        [(Duration::ZERO, 1), (Duration::from_millis(10), 2), (Duration::from_millis(75), 5)]
    {
        let attempts = RefCell::new(0);
        let error = retry_while_busy(patience, &Until::FOREVER, || -> io::Result<()> {
            *attempts.borrow_mut() += 1;
            Err(io::ErrorKind::ExecutableFileBusy.into())
        })
        .unwrap_err();
        assert!(matches!(error, RunError::Busy { waited, .. } if waited == patience), "{error:?}");
        assert_eq!(attempts.into_inner(), attempts_expected, "in {patience:?}");
    }
}

#[test]
fn a_wait_for_a_busy_file_ends_when_the_caller_cancels() {
    let token = CancelToken::new().unwrap();
    let until = Until::FOREVER.or_cancelled(&token);
    let error = retry_while_busy(Duration::from_secs(3600), &until, || -> io::Result<()> {
        token.cancel();
        Err(io::ErrorKind::ExecutableFileBusy.into())
    })
    .unwrap_err();
    assert!(matches!(error, RunError::NotExecuted { why: Interruption::Cancelled }), "{error:?}");
}

#[test]
fn only_a_busy_file_is_tried_again() {
    let mut attempts = 0;
    let error = retry_while_busy(Duration::from_secs(3600), &Until::FOREVER, || -> io::Result<()> {
        attempts += 1;
        Err(io::ErrorKind::PermissionDenied.into())
    })
    .unwrap_err();
    assert!(matches!(error, RunError::Start { .. }), "{error:?}");
    assert_eq!(attempts, 1);
}
