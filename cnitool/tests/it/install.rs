//! `install`: files are whole or not there, in order, and only what is ours goes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{ALL_VERSIONS, Host, Outcome, skip};

const CONF: &str =
    r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"hello","ipam":{"type":"pool"}}]}"#;
const PLUGINS: [&str; 2] = ["image/hello", "image/pool"];

/// A plugin that answers VERSION, and has some weight.
fn plugin(host: &Host, name: &str, mark: &str) {
    let padding = format!("# {mark}\n").repeat(4000);
    host.write(name, &format!("#!/bin/sh\ncat >/dev/null\necho '{ALL_VERSIONS}'\nexit 0\n{padding}"));
    fs::set_permissions(host.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine, and an image that has two plugins and a configuration for it.
fn image() -> Host {
    let host = Host::new();
    plugin(&host, "image/hello", "hello, first");
    plugin(&host, "image/pool", "pool, first");
    host.write("image/10-n1.conflist", CONF);
    host
}

const INSTALL: [&str; 5] = ["install", "image/hello", "image/pool", "--conf", "image/10-n1.conflist"];

fn install(host: &Host, more: &[&str]) -> Outcome {
    host.cnitool(&[&INSTALL, more].concat())
}

/// What a runtime can see, with modes.
fn visible(host: &Host) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut files = BTreeMap::new();
    for dir in ["bin", "net.d"] {
        for entry in fs::read_dir(host.path(dir)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !name.starts_with('.') {
                let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
                files.insert(name, (mode, fs::read(&path).unwrap()));
            }
        }
    }
    files
}

/// What the image has, as it should be seen.
fn wanted(host: &Host) -> BTreeMap<String, (u32, Vec<u8>)> {
    let file =
        |name: &str, mode| (name.to_owned(), (mode, fs::read(host.path(&format!("image/{name}"))).unwrap()));
    BTreeMap::from([file("hello", 0o755), file("pool", 0o755), file("10-n1.conflist", 0o600)])
}

/// Fails if anything has been left beside what was installed.
#[track_caller]
fn assert_tidy(host: &Host) {
    for dir in ["bin", "net.d"] {
        let mut hidden = fs::read_dir(host.path(dir))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(hidden.find(|name| name.starts_with('.')), None);
    }
}

#[test]
fn a_second_run_has_nothing_to_do_and_a_new_version_replaces() {
    let host = image();
    insta::assert_snapshot!(install(&host, &[]).good().stdout, @r"
    installed  DIR/bin/hello
    installed  DIR/bin/pool
    installed  DIR/net.d/10-n1.conflist
    ");
    assert_eq!(visible(&host), wanted(&host));
    insta::assert_snapshot!(install(&host, &[]).good().stdout, @r"
    unchanged  DIR/bin/hello
    unchanged  DIR/bin/pool
    unchanged  DIR/net.d/10-n1.conflist
    ");
    plugin(&host, "image/pool", "pool, second");
    fs::set_permissions(host.path("bin/hello"), fs::Permissions::from_mode(0o700)).unwrap();
    let told = install(&host, &["--json"]).good().json();
    let outcomes: Vec<_> = told["files"].as_array().unwrap().iter().map(|file| &file["outcome"]).collect();
    assert_eq!(outcomes, ["replaced", "replaced", "unchanged"], "a mode that is not right is put right");
    assert_eq!(visible(&host), wanted(&host));
    assert_tidy(&host);
}

#[test]
fn directories_are_made_and_can_be_named() {
    let host = image();
    let named = ["--bin-dir", "node/opt/cni/bin", "--conf-dir", "node/etc/cni/net.d"];
    install(&host, &named).good();
    assert_eq!(host.read("node/etc/cni/net.d/10-n1.conflist"), CONF);
    assert!(host.path("node/opt/cni/bin/pool").exists());
    // What is where plugins are elsewhere does not count for the node.
    plugin(&host, "bin/pool", "of the image");
    let words = ["install", "image/hello", "--conf", "image/10-n1.conflist", "--bin-dir", "other"];
    let outcome = host.cnitool(&words).bad(1);
    assert!(
        outcome.stderr.contains(r#"needs plugin "pool", which is neither given nor in other"#),
        "{outcome}"
    );
}

#[test]
fn nothing_is_touched_when_something_is_wrong() {
    let host = image();
    plugin(&host, "bin/hello", "of somebody else");
    let before = visible(&host);
    host.write("image/text", "no program");
    host.write(
        "image/old",
        "#!/bin/sh\necho '{\"cniVersion\":\"0.4.0\",\"supportedVersions\":[\"0.4.0\"]}'\n",
    );
    host.write("image/mute", "#!/bin/sh\nexit 3\n");
    for name in ["image/old", "image/mute"] {
        fs::set_permissions(host.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    host.write("image/bad.conflist", "{\n  \"name\": \"n 1\",\n  \"plugins\": [{\"type\": \"a/b\"}]\n}");
    host.write("image/n1.txt", CONF);
    host.write("image/future.conflist", &CONF.replace("1.0.0", "2.0.0"));
    let conf = "image/10-n1.conflist";
    for (plugins, conf, status, told) in [
        (
            &["image/hello"][..],
            conf,
            1,
            r#"the configuration needs plugin "pool", which is neither given nor in "#,
        ),
        (&["image/text", "image/pool"], conf, 1, "image/text is no program that may be run"),
        (&["image/old", "image/pool"], conf, 1, "is of version 1.0.0, but image/old supports 0.4.0"),
        (&["image/mute", "image/pool"], conf, 1, "image/mute) failed VERSION with exit status 3"),
        (&PLUGINS, "image/bad.conflist", 1, "image/bad.conflist:2:11: name: invalid characters found"),
        (&PLUGINS, "image/bad.conflist", 1, "image/bad.conflist:3:24: plugins[0].type: "),
        (&PLUGINS, "image/future.conflist", 1, r#"version "2.0.0" is not supported"#),
        (&PLUGINS, "image/n1.txt", 2, "--conf: no runtime reads image/n1.txt"),
        (&PLUGINS, "image/gone.conflist", 2, "--conf: cannot use image/gone.conflist: No such file"),
        (&["image/gone"], conf, 2, "PLUGIN: cannot use image/gone: No such file"),
        (&["image"], conf, 2, "PLUGIN: cannot use image: it is no regular file"),
        (&["image/hello", "bin/hello"], conf, 2, r#"PLUGIN: "hello" is given twice"#),
        (&[], conf, 2, "required arguments were not provided"),
    ] {
        let words = [&["install"], plugins, &["--conf", conf]].concat();
        let outcome = host.cnitool(&words).bad(status);
        assert!(outcome.stderr.contains(told), "{told}\n{outcome}");
        assert_eq!(visible(&host), before, "{told}");
    }
}

#[test]
fn who_knows_better_can_force_a_plugin_that_cannot_be_asked_here() {
    let host = image();
    host.write("image/pool", "#!/no/such/interpreter\n");
    fs::set_permissions(host.path("image/pool"), fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = install(&host, &[]).bad(1);
    assert!(outcome.stderr.contains("--force installs plugins that cannot be asked here"), "{outcome}");
    let outcome = install(&host, &["--force"]);
    assert!(outcome.status == 0 && outcome.stderr.starts_with("warning: "), "{outcome}");
    assert_eq!(visible(&host), wanted(&host));
    // But not a configuration whose plugins are missing.
    let words = ["install", "image/hello", "--conf", "image/10-n1.conflist", "--force", "--bin-dir", "other"];
    host.cnitool(&words).bad(1);
}

#[test]
fn a_file_that_comes_before_is_told() {
    let host = image();
    host.conf("00-n1.conflist", &CONF.replace("1.0.0", "0.4.0"));
    let outcome = install(&host, &[]);
    assert_eq!(outcome.status, 0);
    insta::assert_snapshot!(outcome.stderr, @r#"warning: network "n1" is taken from DIR/net.d/00-n1.conflist, which stands before the new file"#);
}

#[test]
fn links_are_replaced_and_what_they_lead_to_is_left_alone() {
    let host = image();
    host.write("elsewhere/hello", "of somebody else");
    fs::copy(host.path("image/pool"), host.path("elsewhere/pool")).unwrap();
    symlink(host.path("elsewhere/hello"), host.path("bin/hello")).unwrap();
    // Even to the same content: on the node the link may lead elsewhere.
    symlink(host.path("elsewhere/pool"), host.path("bin/pool")).unwrap();
    symlink("nowhere", host.path("net.d/10-n1.conflist")).unwrap();
    install(&host, &[]).good();
    assert_eq!(visible(&host), wanted(&host));
    for file in ["bin/hello", "bin/pool", "net.d/10-n1.conflist"] {
        assert!(fs::symlink_metadata(host.path(file)).unwrap().is_file(), "{file}");
    }
    assert_eq!(host.read("elsewhere/hello"), "of somebody else");
    // A directory that is a link is another matter.
    symlink(host.path("bin"), host.path("link")).unwrap();
    let told = install(&host, &["--bin-dir", "link"]).good().stdout;
    assert!(told.starts_with("unchanged  link/hello\n"), "{told}");
}

#[test]
fn a_directory_in_the_way_is_told_and_stays() {
    let host = image();
    fs::create_dir(host.path("bin/pool")).unwrap();
    let outcome = install(&host, &[]);
    assert_eq!(outcome.status, 1);
    assert_eq!(outcome.stdout, "installed  DIR/bin/hello\n", "what was done is told");
    assert_eq!(outcome.stderr, "error: cannot write DIR/bin/pool: is a directory\n");
    assert!(!host.path("net.d/10-n1.conflist").exists(), "the configuration is last");
}

#[test]
fn a_running_plugin_is_replaced_and_goes_on() {
    let host = image();
    let Ok(sleep) = fs::read("/bin/sleep") else { return skip("needs /bin/sleep") };
    fs::write(host.path("bin/hello"), sleep).unwrap();
    fs::set_permissions(host.path("bin/hello"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut running = Command::new(host.path("bin/hello")).arg("60").spawn().unwrap();
    install(&host, &[]).good();
    assert_eq!(running.try_wait().unwrap(), None);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(visible(&host), wanted(&host));
}

#[test]
fn many_at_once_leave_what_one_would() {
    let host = image();
    for round in ["second", "third"] {
        let runs: Vec<_> =
            (0..6).map(|_| host.command(&INSTALL).stdout(Stdio::null()).spawn().unwrap()).collect();
        for mut run in runs {
            assert!(run.wait().unwrap().success());
        }
        assert_eq!(visible(&host), wanted(&host));
        assert_tidy(&host);
        plugin(&host, "image/hello", round);
        plugin(&host, "image/pool", round);
    }
}

/// Runs `install` where a directory of the machine has a file system of its own. Nothing, where that cannot be.
fn on_a_mount(host: &Host, dir: &str, options: &str, prepare: &str) -> Option<Outcome> {
    let run = host.command(&INSTALL);
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    let script = format!(
        "mount -t tmpfs -o {options} none {0} && {prepare} || exit 99\nenv \"$0\" \"$@\"; status=$?\n\
         ls -A {0} >{1} || exit 99\nexit $status",
        host.path(dir).display(),
        host.path("listing").display()
    );
    unshare.arg(script).arg(run.get_program()).args(run.get_args()).current_dir(host.path("")).env_clear();
    unshare.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = unshare.output().ok().filter(|output| output.status.code() != Some(99));
    let output = output.filter(|output| !output.stderr.starts_with(b"unshare: "));
    if output.is_none() {
        skip("needs a mount namespace");
    }
    Some(Outcome::new(&output?, &host.path("")))
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let host = image();
    // Room for one of the two plugins.
    let Some(outcome) = on_a_mount(&host, "bin", "size=64k", "true") else { return };
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, "installed  DIR/bin/hello\n"), "{outcome}");
    let told = "error: cannot write DIR/bin/pool: No space left on device (os error 28)\n";
    assert_eq!(outcome.stderr, told);
    assert_eq!(host.read("listing"), "hello\n");
    assert!(!host.path("net.d/10-n1.conflist").exists());
}

#[test]
fn a_read_only_disk_is_told_but_not_when_there_is_nothing_to_do() {
    let host = image();
    let read_only = format!("mount -o remount,ro {}", host.path("bin").display());
    let Some(outcome) = on_a_mount(&host, "bin", "size=1m", &read_only) else { return };
    assert_eq!(outcome.status, 1);
    assert_eq!(
        outcome.stderr, "error: cannot write DIR/bin/hello: Read-only file system (os error 30)\n",
        "{outcome}"
    );
    let copy = format!("cp -p image/hello image/pool bin && {read_only}");
    let outcome = on_a_mount(&host, "bin", "size=1m", &copy).unwrap();
    assert_eq!(outcome.status, 0, "{outcome}");
    assert_eq!(host.read("net.d/10-n1.conflist"), CONF);
}

#[test]
fn uninstall_removes_what_was_installed_and_nothing_else() {
    let host = image();
    plugin(&host, "bin/bridge", "of somebody else");
    host.network("n2", &["bridge"]);
    let uninstall = || install(&host, &["--uninstall"]);
    install(&host, &[]).good();
    insta::assert_snapshot!(uninstall().good().stdout, @r"
    removed    DIR/net.d/10-n1.conflist
    removed    DIR/bin/hello
    removed    DIR/bin/pool
    ");
    let left: Vec<_> = visible(&host).into_keys().collect();
    assert_eq!(left, ["10-n2.conflist", "bridge"]);
    insta::assert_snapshot!(uninstall().good().stdout, @r"
    absent     DIR/net.d/10-n1.conflist
    absent     DIR/bin/hello
    absent     DIR/bin/pool
    ");
    // Not even the directories need be there.
    install(&host, &["--uninstall", "--bin-dir", "no/bin", "--conf-dir", "no/net.d"]).good();
}

#[test]
fn uninstall_leaves_alone_what_is_not_the_given_file_and_what_others_use() {
    let host = image();
    install(&host, &[]).good();
    plugin(&host, "bin/hello", "of somebody else");
    host.network("n2", &["bridge"]);
    host.conf("20-n3.conflist", &CONF.replace("n1", "n3").replace("hello", "bridge"));
    let outcome = install(&host, &["--uninstall"]);
    insta::assert_snapshot!(outcome, @r#"
    exit status 1
    --- stdout
    removed    DIR/net.d/10-n1.conflist
    kept       DIR/bin/hello: it is not the given one
    kept       DIR/bin/pool: network "n3" uses it
    "#);
    // A configuration that was changed stays, and what it uses with it.
    install(&host, &[]).good();
    host.conf("10-n1.conflist", &format!("{CONF}\n"));
    let outcome = install(&host, &["--uninstall", "--json"]);
    assert_eq!(outcome.status, 1);
    let told = outcome.json();
    assert_eq!(told["files"][0]["reason"], "it is not the given one");
    assert_eq!(told["files"][1]["reason"], r#"network "n1" uses it"#);
    assert!(Path::new(&host.path("bin/hello")).exists());
}
