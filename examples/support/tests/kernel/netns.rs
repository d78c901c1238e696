use std::error::Error as _;
use std::io::Read as _;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use plugin_support::Error;
use plugin_support::netns::{NetNs, NetNsId};
use plugin_support::testing::TestNetns;

#[test]
fn work_runs_inside_and_the_caller_stays_outside() {
    let Some(netns) = TestNetns::new() else { return };
    let outside = NetNsId::current().unwrap();
    assert_ne!(outside, netns.id());
    assert_eq!(netns.run(NetNsId::current).unwrap().unwrap(), netns.id());
    assert_eq!(NetNsId::current().unwrap(), outside);
    assert!(!netns.is_current().unwrap());
    assert!(netns.run(|| netns.is_current()).unwrap().unwrap());
}

#[test]
fn a_panic_inside_goes_on_outside() {
    let Some(netns) = TestNetns::new() else { return };
    let outside = NetNsId::current().unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| netns.run(|| panic!("inside")))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"inside"));
    assert_eq!(NetNsId::current().unwrap(), outside);
}

#[test]
fn work_may_borrow_and_nest() {
    let (Some(first), Some(second)) = (TestNetns::new(), TestNetns::new()) else { return };
    let mut seen = Vec::new();
    first
        .run(|| {
            seen.push(NetNsId::current().unwrap());
            second.run(|| seen.push(NetNsId::current().unwrap())).unwrap();
            seen.push(NetNsId::current().unwrap());
        })
        .unwrap();
    assert_eq!(seen, [first.id(), second.id(), first.id()]);
}

#[test]
fn equality_is_identity() {
    let (Some(first), Some(second)) = (TestNetns::new(), TestNetns::new()) else { return };
    assert_ne!(*first, *second);
    let again = NetNs::open(first.path()).unwrap();
    assert_eq!(*first, again);
    let seen_inside = first.run(NetNs::current).unwrap().unwrap();
    assert_eq!(*first, seen_inside);
}

#[test]
fn a_socket_opened_inside_stays_inside() {
    let Some(netns) = TestNetns::new() else { return };
    netns.ip("link set lo up");
    let listener = netns.run(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    netns.run(|| std::net::TcpStream::connect(address)).unwrap().unwrap();
}

#[test]
fn the_namespace_outlives_its_path() {
    let Some(netns) = TestNetns::new() else { return };
    let id = netns.id();
    let held = NetNs::open(netns.path()).unwrap();
    let path = netns.path().to_owned();
    drop(netns);
    assert_eq!(held.run(NetNsId::current).unwrap().unwrap(), id);
    assert!(NetNs::open(path).unwrap_err().is_not_found());
}

#[test]
fn a_mounted_namespace_is_opened() {
    let Some(netns) = TestNetns::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("blue");
    std::fs::write(&place, "").unwrap();
    // The mount is in a mount namespace of its own, and we look into that.
    let mut keeper = Command::new("unshare")
        .args(["--mount", "sh", "-c", r#"mount --bind "$0" "$1" && echo && exec cat"#])
        .args([netns.path(), &place])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    keeper.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let path = format!("/proc/{}/root{}", keeper.id(), place.display());
    let mounted = NetNs::open(&path);
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    assert_eq!(mounted.unwrap(), *netns);
}

#[test]
fn nothing_at_the_path() {
    let error = NetNs::open("/no/such/netns").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), r#"failed to Statfs "/no/such/netns""#);
    assert_eq!(error.source().unwrap().to_string(), "no such file or directory");
}

#[test]
fn a_plain_file_is_no_namespace() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = NetNs::open(file.path()).unwrap_err();
    assert!(matches!(error, Error::NotNsFile { .. }), "{error:?}");
    assert!(error.to_string().starts_with(&format!("unknown FS magic on {:?}: ", file.path())), "{error}");
    assert!(!error.is_not_found());
}

#[test]
fn another_kind_of_namespace_is_refused() {
    let error = NetNs::open("/proc/self/ns/mnt").unwrap_err();
    assert!(
        error.to_string().starts_with(r#""/proc/self/ns/mnt" is not a network namespace but "mnt:["#),
        "{error}"
    );
}

#[test]
fn other_files_of_procfs_are_refused() {
    let error = NetNs::open("/proc/version").unwrap_err();
    assert!(matches!(error, Error::NotNetns { .. }), "{error:?}");
}
