//! The program as a runtime and an operator start it: by links, by copies, by its own name.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cni_plugins::PLUGINS;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cni-plugins");

/// The page for operators.
const PAGE: &str = include_str!("../../../docs/swapping-a-node.md");

fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

fn run(mut command: Command, stdin: &Value) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A copy is busy while the child of another test, begun before it was complete, has not become a program yet.
    let mut spawned = piped.spawn();
    for _ in 0..100 {
        if !spawned.as_ref().is_err_and(|error| error.kind() == ErrorKind::ExecutableFileBusy) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        spawned = piped.spawn();
    }
    let mut child = spawned.unwrap();
    // Whoever does not read has something else to say.
    let _ = child.stdin.take().unwrap().write_all(stdin.to_string().as_bytes());
    child.wait_with_output().unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn install(directory: &Path, options: &[&str]) -> Output {
    let mut command = command(PROGRAM);
    command.arg("install").args(options).arg(directory);
    run(command, &Value::Null)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_owned()).unwrap()
}

/// Names, and what is there: contents, or where a link leads.
fn listing(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entry = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let content = match fs::read_link(entry.path()) {
            Ok(target) => format!("-> {}", target.display()).into_bytes(),
            Err(_) => fs::read(entry.path()).unwrap(),
        };
        (name, content)
    };
    fs::read_dir(directory).unwrap().map(|found| entry(found.unwrap())).collect()
}

/// Folders beside this one that are no plugin of a node's.
const NO_PLUGINS: [&str; 5] = [
    "attach",      // what plugins share
    "cni-plugins", // this
    "hello",       // the guide's
    "noop",        // a test double
    "support",     // what plugins share
];

#[test]
fn every_plugin_of_the_workspace_is_in_it_and_on_the_page_for_operators() {
    let folders = listing_names(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let mut plugins: Vec<_> =
        folders.iter().filter(|name| !NO_PLUGINS.contains(&name.as_str())).map(String::as_str).collect();
    plugins.sort_unstable();
    assert_eq!(PLUGINS.iter().map(|plugin| plugin.name).collect::<Vec<_>>(), plugins);
    assert!(NO_PLUGINS.iter().all(|name| folders.iter().any(|folder| folder == name)), "{folders:?}");
    let listed =
        PAGE.split("`cni-plugins list` tells the names").nth(1).unwrap().split("\n\n").next().unwrap();
    let listed: Vec<_> = listed.split('`').skip(1).step_by(2).take(PLUGINS.len()).collect();
    assert_eq!(listed, plugins);
}

#[test]
fn each_plugin_describes_itself_as_a_file_of_its_own() {
    // A second name of the file is to a process what a copy is, and quicker made.
    let dir = tempfile::tempdir_in(Path::new(PROGRAM).parent().unwrap()).unwrap();
    for plugin in PLUGINS {
        let file = dir.path().join(plugin.name);
        fs::hard_link(PROGRAM, &file).unwrap();
        let mut described = command(&file);
        described.arg("--describe");
        assert_eq!(json_of(&run(described, &Value::Null))["name"], plugin.name);
    }
}

#[test]
fn each_plugin_answers_under_its_name() {
    let dir = tempfile::tempdir().unwrap();
    assert!(install(dir.path(), &[]).status.success());
    for plugin in PLUGINS {
        let mut version = command(dir.path().join(plugin.name));
        version.env("CNI_COMMAND", "VERSION");
        let answer = json_of(&run(version, &json!({"cniVersion": "1.0.0"})));
        assert_eq!(answer["cniVersion"], "1.0.0", "{}", plugin.name);
        assert!(answer["supportedVersions"].as_array().unwrap().contains(&json!("1.1.0")), "{}", plugin.name);

        let mut described = command(dir.path().join(plugin.name));
        described.arg("--describe");
        let by_link = run(described, &Value::Null);
        assert_eq!(json_of(&by_link)["name"], plugin.name);
        let mut described = command(PROGRAM);
        described.args([plugin.name, "--describe"]);
        assert_eq!(run(described, &Value::Null).stdout, by_link.stdout, "{}", plugin.name);
    }
}

#[test]
fn a_copy_and_the_name_as_argument_do_what_the_plugin_does() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("static");
    fs::copy(PROGRAM, &copy).unwrap();
    let config = json!({
        "cniVersion": "1.0.0", "name": "n1", "type": "static",
        "ipam": {"type": "static", "addresses": [{"address": "10.1.0.5/24"}]},
    });
    let mut by_argument = command(PROGRAM);
    by_argument.arg("static");
    for mut command in [command(&copy), by_argument] {
        command.env("CNI_COMMAND", "ADD").env("CNI_CONTAINERID", "c1").env("CNI_IFNAME", "eth0");
        command.env("CNI_NETNS", "/run/netns/there-is-none").env("CNI_PATH", dir.path());
        let output = run(command, &config);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(json_of(&output)["ips"][0]["address"], "10.1.0.5/24");
    }
}

#[test]
fn a_plugin_finds_another_beside_it() {
    let (Some(host), Some(container)) = (TestNetns::new(), TestNetns::new()) else { return };
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    assert!(install(&bin, &[]).status.success());
    let config = json!({
        "cniVersion": "1.1.0", "name": "n1", "type": "bridge", "bridge": "br0", "isGateway": true,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/24"}]], "dataDir": dir.path().join("data")},
    });
    let call = |verb: &str| {
        let mut command = command(bin.join("bridge"));
        command.env("CNI_COMMAND", verb).env("CNI_CONTAINERID", "c1").env("CNI_IFNAME", "eth0");
        command.env("CNI_NETNS", container.path()).env("CNI_PATH", &bin);
        let output = host.run(|| run(command, &config)).unwrap();
        assert!(output.status.success(), "{verb}: {output:?}");
        output
    };
    assert_eq!(json_of(&call("ADD"))["ips"][0]["address"], "10.1.0.2/24");
    assert!(container.ip("addr show eth0").contains("10.1.0.2/24"));
    assert!(call("DEL").stdout.is_empty());
    assert!(!container.ip("link").contains("eth0"));
}

#[test]
fn an_unknown_name_is_told_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("flannel");
    symlink(PROGRAM, &link).unwrap();
    // A runtime, by a link of that name, and by the program's own.
    for (program, name) in [(link.as_path(), "flannel"), (Path::new(PROGRAM), "cni-plugins")] {
        let mut add = command(program);
        add.env("CNI_COMMAND", "ADD");
        let output = run(add, &json!({"cniVersion": "1.1.0", "name": "n1", "type": name}));
        assert_eq!(output.status.code(), Some(1));
        let error = json_of(&output);
        assert_eq!(error["code"], 7);
        let msg = error["msg"].as_str().unwrap();
        assert!(msg.contains(&format!("no plugin {name:?}")) && msg.contains("host-local, "), "{msg}");
    }
    // A person.
    let mut by_argument = command(PROGRAM);
    by_argument.arg("flannel");
    for command in [command(&link), by_argument] {
        let output = run(command, &Value::Null);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true));
        assert!(stderr.contains("no plugin \"flannel\"") && stderr.contains("host-local, "), "{stderr}");
    }
}

#[test]
fn a_person_is_told_how_it_is_used() {
    let said = |arguments: &[&str]| {
        let mut command = command(PROGRAM);
        command.args(arguments);
        let output = run(command, &Value::Null);
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (status, list, _) = said(&["list"]);
    assert_eq!(status, 0);
    assert_eq!(
        list.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        PLUGINS.iter().map(|plugin| plugin.name).collect::<Vec<_>>()
    );
    assert!(said(&["--help"]).1.contains("install [--force] DIR"));
    assert!(said(&["--version"]).1.starts_with("cni-plugins "));
    for arguments in [&[] as &[&str], &["install"], &["install", "--all"], &["install", "a", "b"]] {
        let (status, stdout, stderr) = said(arguments);
        assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(stderr.contains("usage:"), "{stderr}");
    }
}

#[test]
fn install_makes_one_copy_and_links_and_twice_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("not/there/yet");
    let first = install(&bin, &[]);
    assert!(first.status.success(), "{first:?}");
    assert_eq!(text(&first.stdout).lines().count(), PLUGINS.len() + 1);
    let there = listing(&bin);
    assert_eq!(there.len(), PLUGINS.len() + 1);
    assert_eq!(there["cni-plugins"], fs::read(PROGRAM).unwrap());
    assert_eq!(fs::metadata(bin.join("cni-plugins")).unwrap().permissions().mode() & 0o7777, 0o755);
    assert!(PLUGINS.iter().all(|plugin| there[plugin.name] == b"-> cni-plugins"));

    let inode =
        |name: &str| std::os::unix::fs::MetadataExt::ino(&fs::symlink_metadata(bin.join(name)).unwrap());
    let before = (inode("cni-plugins"), inode("bridge"));
    let second = install(&bin, &[]);
    assert!(second.status.success() && second.stdout.is_empty(), "{second:?}");
    assert_eq!((inode("cni-plugins"), inode("bridge")), before);

    // The links hold wherever the directory is.
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&bin, &elsewhere).unwrap();
    assert!(elsewhere.join("bridge").canonicalize().is_ok());
}

#[test]
fn what_was_lost_or_is_of_another_release_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    assert!(install(dir.path(), &[]).status.success());
    let good = listing(dir.path());
    fs::remove_file(dir.path().join("bridge")).unwrap();
    let other_release = [fs::read(PROGRAM).unwrap(), b"of another release".to_vec()].concat();
    fs::write(dir.path().join("cni-plugins"), other_release).unwrap();
    let repaired = install(dir.path(), &[]);
    assert!(repaired.status.success(), "{repaired:?}");
    assert_eq!(text(&repaired.stdout).lines().count(), 2);
    assert_eq!(listing(dir.path()), good);
}

#[test]
fn files_of_others_stay_unless_asked() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("go-bridge");
    fs::write(&elsewhere, "Go's").unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("loopback"), "Go's").unwrap();
    fs::write(bin.join("flannel"), "flannel's").unwrap();
    symlink(&elsewhere, bin.join("bridge")).unwrap();
    fs::write(bin.join("cni-plugins"), "another program").unwrap();
    let before = listing(&bin);

    let refused = install(&bin, &[]);
    assert_eq!((refused.status.code(), refused.stdout.is_empty()), (Some(1), true));
    let stderr = text(&refused.stderr);
    assert!(stderr.contains("somebody else's there: cni-plugins, bridge, loopback\n"), "{stderr}");
    assert!(stderr.contains("--force"), "{stderr}");
    assert_eq!(listing(&bin), before);

    assert!(install(&bin, &["--force"]).status.success());
    let after = listing(&bin);
    assert_eq!(after["bridge"], b"-> cni-plugins");
    assert_eq!(after["loopback"], b"-> cni-plugins");
    assert_eq!(after["flannel"], b"flannel's");
    // The link was replaced, not what it led to.
    assert_eq!(fs::read(&elsewhere).unwrap(), b"Go's");
}

#[test]
fn what_cannot_be_written_is_told_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let failed = install(&dir.path().join("file/bin"), &[]);
    assert_eq!(failed.status.code(), Some(1));
    let stderr = text(&failed.stderr);
    assert!(
        stderr.contains("file/bin\": not a directory") || stderr.contains("file/bin\": Not a directory"),
        "{stderr}"
    );
    // Nothing is in place of a directory, whatever is asked for.
    fs::create_dir_all(dir.path().join("bin/bridge/inside")).unwrap();
    let failed = install(&dir.path().join("bin"), &["--force"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(dir.path().join("bin/bridge/inside").is_dir());
    let left: Vec<_> =
        listing_names(&dir.path().join("bin")).into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(left, [""; 0]);
}

/// The commands of the page for operators, on a directory of this test's.
#[test]
fn the_page_about_swapping_a_node_does_what_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let (opt, path) = (dir.path().join("opt"), dir.path().join("path"));
    let bin = opt.join("cni/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir(&path).unwrap();
    symlink(PROGRAM, path.join("cni-plugins")).unwrap();
    for name in ["bridge", "dhcp", "host-local", "loopback"] {
        fs::write(bin.join(name), format!("Go's {name}")).unwrap();
    }
    let before = listing(&bin);
    let blocks: Vec<_> =
        PAGE.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let [build, own_directory, over, back, firewall] = blocks[..] else { panic!("{blocks:?}") };
    assert!(build.starts_with("cargo build --release -p cni-plugins"));
    let shell = |script: &str| {
        let script = script.replace("/opt/", &format!("{}/", opt.display()));
        let mut shell = Command::new("sh");
        shell.args(["-euc", &script]).env("PATH", format!("{}:/usr/sbin:/usr/bin:/bin", path.display()));
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{script}{output:?}");
    };
    shell(own_directory);
    assert_eq!(listing(&opt.join("cni-rs/bin")).len(), PLUGINS.len() + 1);
    assert_eq!(listing(&bin), before);

    shell(over);
    let ours = listing(&bin);
    assert_eq!(ours["bridge"], b"-> cni-plugins");
    assert_eq!((&ours["dhcp"], ours.len()), (&before["dhcp"], PLUGINS.len() + 2));
    shell(back);
    assert_eq!(listing(&bin), before);

    let Some(host) = TestNetns::new() else { return };
    host.run(|| shell(firewall)).unwrap();
    let chain = host.command("nft", ["list", "chain", "inet", "cni_plugins_firewall", "forward"]);
    assert!(chain.contains("policy drop"), "{chain}");
}

fn listing_names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
