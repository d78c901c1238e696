//! What a private host looks like before a test uses it: its mounts, directories and root file system, and the
//! control groups that outlive its namespaces.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::PrivateHost;
use crate::need;

/// Directories that programs in the host may write to, empty and the host's own.
const PRIVATE_DIRS: [&str; 4] = ["/run", "/dev/shm", "/opt", "/var/lib"];

/// The commands in a container.
const APPLETS: [&str; 9] = ["cat", "echo", "hostname", "ip", "nc", "ping", "ping6", "sh", "sleep"];

/// What gives the host directories of its own; its arguments are that of plugins, that of configurations, and
/// [`PRIVATE_DIRS`].
const SET_UP: &str = r#"
set -e
ip link set lo up
plugins=$1 configurations=$2
shift 2
for dir; do mount -t tmpfs tmpfs "$dir"; done
# /etc is needed as it is (users, alternatives), but nothing may write to it.
mkdir -p /run/etc/upper /run/etc/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work /etc
mkdir -p /etc/cni/net.d /opt/cni/bin /var/lib/cni
mount --bind "$plugins" /opt/cni/bin
mount --bind "$configurations" /etc/cni/net.d
"#;

impl PrivateHost {
    pub(super) fn set_up(&self) {
        let own = [self.plugin_dir(), self.conf_dir()];
        for dir in own.iter().chain([&self.home()]) {
            fs::create_dir(dir).expect("the host's directory is new");
        }
        // In one go: a program in the host costs several of the machine's.
        let script = ["bash", "-c", SET_UP, "set-up"].map(OsStr::new);
        let dirs = own.iter().map(|dir| dir.as_os_str()).chain(PRIVATE_DIRS.map(OsStr::new));
        self.run(script.into_iter().chain(dirs));
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir().join("home")
    }
}

/// Makes a root file system of one static binary and links to it.
pub(super) fn make_rootfs(root: &Path) {
    for dir in ["bin", "dev", "etc", "proc", "sys", "tmp"] {
        fs::create_dir_all(root.join(dir)).expect("the host's directory is new");
    }
    let busybox = need::program("busybox").expect("the host needs it");
    fs::copy(busybox, root.join("bin/busybox")).expect("busybox can be copied");
    for applet in APPLETS {
        symlink("busybox", root.join("bin").join(applet)).expect("the directory is new");
    }
}

/// Removes the control groups below the one named `id`, in version 2's hierarchy or each of version 1's.
/// Runtimes make them, and they have no namespace to vanish with.
pub(super) fn remove_control_groups(id: &str) {
    let mount = Path::new("/sys/fs/cgroup");
    let hierarchies =
        fs::read_dir(mount).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    for hierarchy in hierarchies.chain([mount.to_owned()]) {
        remove_control_group(&hierarchy.join(id));
    }
}

fn remove_control_group(group: &Path) {
    let Ok(entries) = fs::read_dir(group) else { return };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_control_group(&entry.path());
        }
    }
    // The files in it are the kernel's and go with it.
    let _ = fs::remove_dir(group);
}
