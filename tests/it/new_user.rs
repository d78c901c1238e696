//! A new user: goes through the page that leads from nothing to a node, and does what it says, command by command and
//! change by change. What is typed and what is to be seen stands there and nowhere here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cni_tests::bins::{self, Plugin};
use cni_tests::private_host::PrivateHost;
use cni_tests::runtimes::{Podman, Runtime as _};

use crate::guide::console::{Call, agrees, calls};

const PAGE: &str = include_str!("../../docs/guide/from-nothing-to-a-node.md");

/// The image that the page takes; here it is the busybox of the machine.
const IMAGE: &str = "docker.io/library/busybox";

#[test]
fn the_way_from_nothing_to_a_node_is_as_the_page_says() {
    let programs = [Podman::PROGRAMS, &["unshare", "bash"]].concat();
    let Some(host) = PrivateHost::start(&programs, &[Plugin::Ours("host-local")]) else { return };
    let mut user = User::new(&host);
    let (mut compared, mut changed) = (0, 0);
    for block in blocks(PAGE) {
        match block {
            Block::Console(text) => {
                for Call { command, shown } in calls(&text) {
                    let printed = user.types(&command);
                    assert!(agrees(&shown, &printed), "$ {command}\n{printed}\ninstead of\n{shown}");
                    compared += 1;
                }
            }
            Block::Diff(text) => changed += user.edits(&text),
        }
    }
    assert!(compared > 10 && changed == 4, "{compared} commands, {changed} changes");
    host.assert_clean();
}

/// A part of the page that is to be done.
enum Block {
    /// A block of ```console, with its fences.
    Console(String),
    Diff(String),
}

/// What is to be done, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in page.split("\n```").collect::<Vec<_>>().chunks(2).filter_map(|pair| pair.get(1)) {
        if let Some(diff) = part.strip_prefix("diff\n") {
            blocks.push(Block::Diff(diff.to_owned()));
        } else if part.starts_with("console\n") {
            blocks.push(Block::Console(format!("```{part}\n```\n")));
        }
    }
    blocks
}

/// Somebody at a shell on the host.
struct User<'a> {
    host: &'a PrivateHost,
    podman: Podman,
    dir: PathBuf,
    /// What `cargo` builds, kept from run to run.
    target: PathBuf,
}

impl<'a> User<'a> {
    fn new(host: &'a PrivateHost) -> Self {
        let dir = host.dir().join("user");
        fs::create_dir_all(&dir).unwrap();
        fs::create_dir(host.dir().join("programs")).unwrap();
        fs::copy(bins::build("cnitool"), host.dir().join("programs/cnitool")).unwrap();
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new");
        fs::create_dir_all(&target).unwrap();
        Self { host, podman: Podman::start(host.clone(), "hello-net"), dir, target }
    }

    /// Runs a command; what it prints, both streams together.
    fn types(&mut self, command: &str) -> String {
        if let Some(dir) = command.strip_prefix("cd ") {
            self.dir = self.dir.join(dir);
            return String::new();
        }
        if let Some(words) = command.strip_prefix("cargo ") {
            return self.cargo(words);
        }
        if let Some(words) = command.strip_prefix("podman run ") {
            return self.podman_run(words);
        }
        let (dir, programs) = (self.dir.display(), self.host.dir().join("programs"));
        let script = format!("exec 2>&1; cd {dir}; PATH={}:$PATH; {command}", programs.display());
        self.host.command(["bash", "-c", &script]).attempt().stdout
    }

    /// cargo, which works outside of the host: it needs what this machine has, and may take its time. The registry is
    /// not asked, and the SDK is this one.
    fn cargo(&self, words: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let link = self.dir.join("target");
        if !link.exists() {
            std::os::unix::fs::symlink(&self.target, link).unwrap();
            fs::copy(root.join("Cargo.lock"), self.dir.join("Cargo.lock")).unwrap();
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(words.split(' ')).arg("--offline");
        cargo.arg("--config").arg(format!("patch.crates-io.cni-skel.path={:?}", root.join("cni-skel")));
        cargo.current_dir(&self.dir).env("CARGO_TERM_COLOR", "never").env_remove("CARGO_TARGET_DIR");
        let output = cargo.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// podman, with its state on the host and the machine's busybox for an image.
    fn podman_run(&self, words: &str) -> String {
        let (rootfs, cgroup) = (self.host.rootfs().display().to_string(), format!("/{}", self.host.id()));
        let mut line = vec!["run", "--cgroups=no-conmon", "--cgroup-parent", &cgroup];
        // podman's defaults may be above what runc may raise them to.
        line.extend(["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]);
        for word in words.split(' ') {
            match word {
                IMAGE => line.extend(["--rootfs", &rootfs]),
                word => line.push(word),
            }
        }
        let ran = self.podman.command(&line).attempt();
        ran.stdout + &ran.stderr
    }

    /// Makes the changes of a diff: in the file named first, each group of lines in its only place.
    fn edits(&self, diff: &str) -> usize {
        let (file, hunks) = diff.split_once('\n').unwrap();
        let path = self.dir.join(file.strip_prefix("--- ").unwrap());
        let mut text = fs::read_to_string(&path).unwrap();
        let hunks: Vec<_> = hunks.split("@@\n").collect();
        for hunk in &hunks {
            let side = |other: char| -> String {
                let lines = hunk.lines().filter(|line| !line.starts_with(other));
                lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
            };
            let (old, new) = (side('+'), side('-'));
            assert_eq!(
                text.matches(&old).count(),
                1,
                "{file}: the change has no place, or more than one:\n{old}"
            );
            text = text.replace(&old, &new);
        }
        fs::write(&path, text).unwrap();
        hunks.len()
    }
}
