//! The harness itself: a private host keeps what happens in it to itself, and ends without a trace.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use cni_tests::private_host::PrivateHost;

#[test]
fn changes_stay_inside() {
    let Some(host) = PrivateHost::start(&[], &[]) else { return };
    let name = host.id().to_owned();
    host.run(["ip", "link", "add", "test-inside", "type", "bridge"]);
    for dir in
        ["/etc", "/etc/cni/net.d", "/opt", "/run", "/run/netns", "/var/lib", "/var/lib/cni", "/dev/shm"]
    {
        host.run(["mkdir", "-p", &format!("{dir}/{name}")]);
        // The configuration directory is the one that is shared with the test, under another name.
        assert!(!Path::new(dir).join(&name).exists(), "{dir} is the machine's own");
    }
    assert!(host.conf_dir().join(&name).is_dir());
    assert!(!fs::read_to_string("/proc/net/dev").unwrap().contains("test-inside"));
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&name));
}

#[test]
fn hosts_do_not_see_each_other() {
    let Some(one) = PrivateHost::start(&[], &[]) else { return };
    let Some(two) = PrivateHost::start(&[], &[]) else { return };
    let (netns, _) = (one.netns("pod"), two.netns("pod"));
    one.run(["ip", "addr", "add", "10.0.0.1/24", "dev", "lo"]);
    assert!(!two.run(["ip", "addr", "show", "dev", "lo"]).stdout.contains("10.0.0.1"));
    netns.remove();
    assert_eq!(one.run(["ip", "netns", "list"]).stdout, "");
    assert_eq!(two.run(["ip", "netns", "list"]).stdout.trim(), "test-pod");
}

#[test]
fn a_failing_test_leaves_nothing_behind() {
    let Some(host) = PrivateHost::start(&[], &[]) else { return };
    let (dir, id) = (host.dir().to_owned(), host.id().to_owned());
    let failure = catch_unwind(AssertUnwindSafe(move || {
        // A daemon that has left its starter, a mount, and a control group, as runtimes make them.
        let _background = host.command(["sleep", "1000"]).env("CNI_TEST_HOST", host.id()).spawn();
        let daemon = format!("setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo {}", host.id());
        host.command(["bash", "-c", &daemon]).env("CNI_TEST_HOST", host.id()).run();
        host.run(["mount".as_ref(), "--bind".as_ref(), host.rootfs().as_os_str(), host.rootfs().as_os_str()]);
        for hierarchy in hierarchies() {
            // Not every hierarchy is writable everywhere.
            host.command(["mkdir", "-p", &format!("{hierarchy}/{}/pod", host.id())]).attempt();
        }
        assert_eq!(processes_of(host.id()).len(), 3, "the two, and the first's time limit");
        panic!("as a failing test does");
    }));
    assert_eq!(failure.unwrap_err().downcast_ref::<&str>(), Some(&"as a failing test does"));

    assert_eq!(processes_of(&id), Vec::<String>::new());
    assert!(!dir.exists());
    for hierarchy in hierarchies() {
        assert!(!Path::new(&hierarchy).join(&id).exists(), "a control group is left in {hierarchy}");
    }
}

/// The hierarchies of control groups: version 1's are directories of the mount, version 2's is the mount
/// itself.
fn hierarchies() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields.filter(|fields| fields[2].starts_with("cgroup")).map(|fields| fields[1].to_owned()).collect()
}

/// The IDs of processes whose environment names the host `id`, which is more than can be said of their command
/// lines.
fn processes_of(id: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let wanted = format!("CNI_TEST_HOST={id}");
    let is_of_host = |path: &Path| {
        let environ = fs::read(path.join("environ")).unwrap_or_default();
        let is_nsenter = fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "nsenter");
        environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()) && !is_nsenter
    };
    entries
        .filter(|entry| is_of_host(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into())
        .collect()
}
