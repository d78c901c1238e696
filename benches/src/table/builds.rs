//! The programs that are compared: this workspace's, built as they ship, and their peers. A peer whose tools are missing
//! is left out, and the report says so.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built statically.
const STATIC: [&str; 8] =
    ["noop", "passthrough", "plain", "peak", "bridge", "host-local", "portmap", "cnitool"];
/// What is built as cargo does it without being asked.
const DYNAMIC: [&str; 2] = ["noop", "passthrough"];
/// The packages of both.
const PACKAGES: [&str; 6] = ["noop", "bridge", "host-local", "portmap", "cnitool", "cni-benches"];
/// What programs without a package are built with, as the workspace's release profile builds.
const LIKE_RELEASE: [&str; 4] = ["-Copt-level=s", "-Clto=fat", "-Ccodegen-units=1", "-Cstrip=symbols"];
/// Where Debian puts the sources of Go's library.
const GO_SOURCES: &str = "/usr/share/gocode";

pub(super) struct Programs {
    target: PathBuf,
    triple: String,
    /// Empty programs and Go's.
    peers: PathBuf,
    pub(super) go: Result<Go, String>,
    /// The equal plugin on rscni-plugin.
    pub(super) rscni: Result<PathBuf, String>,
}

pub(super) struct Go {
    pub(super) version: String,
}

impl Programs {
    pub(super) fn build() -> Self {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
        let peers = target.join("peers");
        std::fs::create_dir_all(&peers).unwrap();
        let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let rustlib = sysroot().join("lib/rustlib").join(&triple);
        if !rustlib.is_dir() {
            run(Command::new("rustup").current_dir(workspace()).args(["target", "add", &triple]));
        }
        run(cargo().args(["--target", &triple]).args(selection(&STATIC)));
        run(cargo().args(selection(&DYNAMIC)));
        // Not the plugins' profile: a program that decodes a lot has cargo's own level, and so have its peers.
        let fast =
            ["--config", "profile.release.opt-level=3", "--package", "cni-benches", "--bin", "library"];
        run(cargo().arg("--target-dir").arg(target.join("fast")).args(fast));
        let empty = workspace().join("benches/peers/empty");
        for name in ["empty", "echo"] {
            for (linked, more) in [("dynamic", None), ("static", Some(format!("--target={triple}")))] {
                let mut rustc = Command::new("rustc");
                rustc.current_dir(workspace()).args(LIKE_RELEASE).args(more).args([
                    "--edition",
                    "2024",
                    "-o",
                ]);
                run(rustc.arg(peers.join(format!("{name}-{linked}"))).arg(empty.join(format!("{name}.rs"))));
            }
        }
        let c = empty.join("empty.c");
        run(Command::new("gcc").args(["-O2", "-s", "-static", "-o"]).arg(peers.join("c-static")).arg(&c));
        // Linked with the C library that our static programs have, which comes with the target.
        let musl = rustlib.join("lib/self-contained");
        let objects = ["crt1.o", "crti.o", "libc.a", "crtn.o"].map(|name| musl.join(name));
        run(Command::new("gcc")
            .args(["-O2", "-s", "-static", "-nostdlib", "-o"])
            .arg(peers.join("c-musl"))
            .args(&objects[..2])
            .arg(&c)
            .args(&objects[2..]));
        let go = build_go(&peers);
        let mut rscni = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        rscni.args(["build", "--quiet", "--release", "--target-dir"]).arg(target.join("peers/rscni"));
        rscni.current_dir(workspace().join("benches/peers/rscni"));
        let rscni = match rscni.status() {
            Ok(status) if status.success() => Ok(peers.join("rscni/release/passthrough-rscni")),
            _ => Err("benches/peers/rscni does not build".to_owned()),
        };
        Self { target, triple, peers, go, rscni }
    }

    /// One of ours, static.
    pub(super) fn of_static(&self, name: &str) -> PathBuf {
        self.target.join(&self.triple).join("release").join(name)
    }

    /// One of ours, dynamic.
    pub(super) fn of_dynamic(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// The program that measures the library.
    pub(super) fn library(&self) -> PathBuf {
        self.target.join("fast/release/library")
    }

    /// The directory that holds the static ones.
    pub(super) fn plugin_dir(&self) -> PathBuf {
        self.target.join(&self.triple).join("release")
    }

    /// A program that does nothing, or one of Go's.
    pub(super) fn peer(&self, name: &str) -> PathBuf {
        self.peers.join(name)
    }
}

pub(super) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// A plugin of Go's, as the distribution installs it.
pub(super) fn go_plugin(name: &str) -> Result<PathBuf, String> {
    let path = Path::new("/usr/lib/cni").join(name);
    if path.is_file() { Ok(path) } else { Err(format!("{} is missing", path.display())) }
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace()).args(["build", "--quiet", "--release"]);
    cargo
}

fn selection(binaries: &[&'static str]) -> Vec<&'static str> {
    let packages = PACKAGES.iter().flat_map(|name| ["--package", *name]);
    packages.chain(binaries.iter().flat_map(|name| ["--bin", *name])).collect()
}

fn sysroot() -> PathBuf {
    let told = Command::new("rustc").current_dir(workspace()).args(["--print", "sysroot"]).output().unwrap();
    PathBuf::from(String::from_utf8(told.stdout).unwrap().trim())
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Builds Go's noop and the peers on Go's library. `GO` names the command, if it is not in the PATH.
fn build_go(peers: &Path) -> Result<Go, String> {
    let noop = "github.com/containernetworking/cni/plugins/test/noop";
    if !Path::new(GO_SOURCES).join("src").join(noop).is_dir() {
        return Err("Debian's golang-github-appc-cni-dev is not installed".to_owned());
    }
    let go = std::env::var_os("GO").unwrap_or_else(|| "go".into());
    let told = Command::new(&go).arg("version").output().map_err(|error| format!("{go:?}: {error}"))?;
    let ours = ["passthrough", "library", "runtime"].map(|name| (name, format!("{name}/main.go")));
    let packages = ours.iter().map(|(name, file)| (*name, file.as_str())).chain([("noop", noop)]);
    for (name, package) in packages {
        let mut build = Command::new(&go);
        build.current_dir(workspace().join("benches/peers/go"));
        build.envs([("GO111MODULE", "off"), ("GOPATH", GO_SOURCES), ("CGO_ENABLED", "0")]);
        build
            .args(["build", "-trimpath", "-ldflags=-s -w", "-o"])
            .arg(peers.join(format!("go/{name}")))
            .arg(package);
        run(&mut build);
    }
    Ok(Go {
        version: String::from_utf8_lossy(&told.stdout).trim().trim_start_matches("go version ").to_owned(),
    })
}
