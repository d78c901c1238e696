//! Every fault at every call of the kernel in `cnitool install`: each file is whole, and the configuration is the last that comes
//! and the first that goes.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cni_tests::bins;

use super::call::{Call, Outcome};
use super::inject::{Injector, Kind};

const CONF: &str =
    r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"hello","ipam":{"type":"pool"}}]}"#;
const VERSIONS: &str = r#"{"cniVersion":"1.1.0","supportedVersions":["0.4.0","1.0.0","1.1.0"]}"#;

/// What a runtime can see: files, with modes.
type Visible = BTreeMap<String, (u32, Vec<u8>)>;

/// A machine, and an image that has two plugins and a configuration for it.
struct Machine {
    dir: PathBuf,
    cnitool: PathBuf,
}

impl Machine {
    fn new(dir: &Path) -> Self {
        let machine = Self { dir: dir.to_owned(), cnitool: bins::build("cnitool") };
        for name in ["image", "bin", "net.d"] {
            fs::create_dir(dir.join(name)).unwrap();
        }
        machine.release("first", CONF);
        machine
    }

    /// Puts plugins and a configuration into the image.
    fn release(&self, mark: &str, conf: &str) {
        for name in ["hello", "pool"] {
            let path = self.dir.join("image").join(name);
            let padding = format!("# {name}, {mark}\n").repeat(4000);
            fs::write(&path, format!("#!/bin/sh\ncat >/dev/null\necho '{VERSIONS}'\nexit 0\n{padding}"))
                .unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(self.dir.join("image/10-n1.conflist"), conf).unwrap();
    }

    fn install(&self, more: &[&str]) -> Call {
        let image = |name: &str| self.dir.join("image").join(name).to_str().unwrap().to_owned();
        let [hello, pool, conf] = ["hello", "pool", "10-n1.conflist"].map(image);
        let words = [&["install", &hello, &pool, "--conf", &conf], more].concat();
        let mut call = Call::new(&self.cnitool, &words);
        call.env.push(("CNI_PATH", self.dir.join("bin").into()));
        call.env.push(("NETCONFPATH", self.dir.join("net.d").into()));
        call
    }

    fn visible(&self) -> Visible {
        let mut files = BTreeMap::new();
        for path in self.files() {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !name.starts_with('.') {
                let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
                files.insert(name, (mode, fs::read(&path).unwrap()));
            }
        }
        files
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = ["bin", "net.d"].map(|dir| fs::read_dir(self.dir.join(dir)).unwrap());
        entries.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    fn show(&self, files: &Visible) {
        for (name, (mode, bytes)) in files {
            let path = self.dir.join(if name.ends_with("conflist") { "net.d" } else { "bin" }).join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
        }
    }

    /// Fails if anything has been left beside what was installed.
    fn assert_tidy(&self) {
        let hidden = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with('.');
        assert_eq!(self.files().into_iter().find(hidden), None);
    }
}

/// Injects one fault after the other; what is there and what came of the call is judged after each, the latter if it ended by
/// itself. How many there were.
fn sweep(
    injector: &Injector,
    call: &Call,
    prepare: impl Fn(),
    judge: impl Fn(bool) -> Result<(), String>,
) -> usize {
    prepare();
    let faults = injector.faults(call);
    let (mut hits, mut wrong) = (0, Vec::new());
    for fault in &faults {
        prepare();
        let Some(outcome) = injector.run(call, *fault) else { continue };
        hits += 1;
        let is_done = outcome.status.success();
        let fair = if fault.kind == Kind::Kill { Ok(()) } else { told(&outcome) };
        let fair = match fault.kind {
            Kind::Overcome(_) if !is_done => Err(format!("it gave up: {outcome:?}")),
            _ => fair,
        };
        wrong.extend(fair.and_then(|()| judge(is_done)).map_err(|why| format!("{fault}: {why}")).err());
    }
    assert!(wrong.is_empty(), "{hits} faults:\n{}", wrong.join("\n"));
    assert!(hits * 10 >= faults.len() * 9, "{hits} of {} faults were met with", faults.len());
    hits
}

fn told(outcome: &Outcome) -> Result<(), String> {
    let is_told = outcome.stderr.contains("error: ") || outcome.stdout.contains("kept ");
    match outcome.status.code() {
        Some(0) => Ok(()),
        Some(1 | 2) if is_told => Ok(()),
        _ => Err(format!("it ended untold: {outcome:?}")),
    }
}

#[test]
fn a_new_release_comes_file_by_file_with_the_configuration_last() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let machine = Machine::new(dir.path());
    machine.install(&[]).good();
    let first = machine.visible();
    machine.release("second", &CONF.replace("1.0.0", "0.4.0"));
    machine.install(&[]).good();
    let second = machine.visible();
    assert_eq!(
        (first.len(), first.values().filter(|file| second.values().any(|new| new == *file)).count()),
        (3, 0)
    );
    let faults = sweep(
        &injector,
        &machine.install(&[]),
        // What faults before have left is still there, and does not matter.
        || machine.show(&first),
        |is_done| {
            let seen = machine.visible();
            if is_done {
                return if seen == second { Ok(()) } else { Err("not all is installed".to_owned()) };
            }
            if seen.len() != 3
                || seen.iter().any(|(name, file)| *file != first[name] && *file != second[name])
            {
                return Err(format!("not each of {:?} is whole", seen.keys()));
            }
            let new = ["hello", "pool", "10-n1.conflist"].map(|name| seen[name] == second[name]);
            if new.is_sorted_by(|before, after| before >= after) {
                Ok(())
            } else {
                Err(format!("out of order: {new:?}"))
            }
        },
    );
    machine.install(&[]).good();
    assert_eq!(machine.visible(), second);
    machine.assert_tidy();
    super::tell(faults, "cnitool install");
    assert!(faults > 150, "{faults} faults");
}

#[test]
fn what_is_uninstalled_never_leaves_a_configuration_without_its_plugins() {
    let dir = tempfile::tempdir().unwrap();
    let Some(injector) = Injector::new(dir.path().join("strace")) else { return };
    let machine = Machine::new(dir.path());
    machine.install(&[]).good();
    let all = machine.visible();
    let faults = sweep(
        &injector,
        &machine.install(&["--uninstall"]),
        || machine.show(&all),
        |is_done| {
            let seen = machine.visible();
            if seen.iter().any(|(name, file)| *file != all[name]) {
                return Err(format!("not each of {:?} is whole", seen.keys()));
            }
            match seen.len() {
                0 => Ok(()),
                _ if is_done => Err(format!("{:?} are left", seen.keys())),
                count if count < 3 && seen.contains_key("10-n1.conflist") => {
                    Err("the configuration was not first".to_owned())
                }
                _ => Ok(()),
            }
        },
    );
    machine.install(&["--uninstall"]).good();
    assert!(machine.visible().is_empty());
    machine.assert_tidy();
    super::tell(faults, "cnitool install --uninstall");
    assert!(faults > 50, "{faults} faults");
}
