//! What a private host looks like before a test uses it: its mounts, directories and root file system, and the
//! control groups that outlive its namespaces.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::PrivateHost;
use crate::need;

/// Directories that programs in the host may write to, empty and the host's own.
const PRIVATE_DIRS: [&str; 4] = ["/run", "/dev/shm", "/opt", "/var/lib"];

/// The commands in a container.
const APPLETS: [&str; 9] = ["cat", "echo", "hostname", "ip", "nc", "ping", "ping6", "sh", "sleep"];

/// What gives the host directories of its own, in few programs, as hundreds of hosts are set up. Its argument is the
/// host's directory.
const SET_UP: &str = r#"
set -e
ip link set lo up
mount --all --fstab "$1/first.fstab"
mkdir -p /run/etc/upper /run/etc/work /opt/cni/bin /var/lib/cni
mount --all --fstab "$1/second.fstab"
"#;

impl PrivateHost {
    pub(super) fn set_up(&self) {
        for dir in [self.plugin_dir(), self.conf_dir(), self.home()] {
            fs::create_dir(dir).expect("the host's directory is new");
        }
        // By a name of their own: `mount` passes over what seems to be mounted already.
        let first = PRIVATE_DIRS.map(|dir| format!("{} {dir} tmpfs defaults 0 0\n", self.id())).concat();
        let second = format!(
            // `/etc` is needed as it is (users, alternatives), but nothing may write to it.
            "{} /etc overlay lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work 0 0\n\
             {} /opt/cni/bin none bind 0 0\n\
             {} /etc/cni/net.d none bind,X-mount.mkdir 0 0\n",
            self.id(),
            self.plugin_dir().display(),
            self.conf_dir().display(),
        );
        for (name, mounts) in [("first.fstab", first), ("second.fstab", second)] {
            fs::write(self.dir().join(name), mounts).expect("the host's directory can be written");
        }
        self.run([
            "bash".as_ref(),
            "-c".as_ref(),
            SET_UP.as_ref(),
            "set-up".as_ref(),
            self.dir().as_os_str(),
        ]);
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
