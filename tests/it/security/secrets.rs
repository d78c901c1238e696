//! What the environment of a runtime holds that others must not read: it reaches plugins, and nothing that is shown or kept.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use cni_tests::bins;

const SECRETS: [(&str, &str); 3] = [
    ("AWS_SECRET_ACCESS_KEY", "hunter2-key"),
    ("REGISTRY_TOKEN", "hunter2-token"),
    ("DB_PASSWORD", "hunter2-word"),
];

/// Plugins that answer, fail with an error object, print rubbish, or die: each notes its environment.
const PLUGINS: [(&str, &str); 4] = [
    ("good", r#"echo '{"cniVersion":"1.0.0"}'"#),
    ("failing", r#"echo '{"code":100,"msg":"no"}'; exit 1"#),
    ("rubbish", "echo rubbish; exit 1"),
    ("dying", "kill -SEGV $$"),
];

#[test]
fn secrets_of_the_environment_are_in_no_error_no_trace_and_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for folder in ["bin", "net.d", "cache"] {
        std::fs::create_dir(path(folder)).unwrap();
    }
    let cnitool = bins::build("cnitool");
    for (plugin, then) in PLUGINS {
        let seen = path(&format!("seen-{plugin}"));
        let versions = r#"[ "$CNI_COMMAND" = VERSION ] && exec echo '{"cniVersion":"1.0.0","supportedVersions":["1.0.0"]}'"#;
        let script = format!("#!/bin/sh\nenv >>{}\n{versions}\n{then}\n", seen.display());
        std::fs::write(path("bin").join(plugin), script).unwrap();
        std::fs::set_permissions(path("bin").join(plugin), std::fs::Permissions::from_mode(0o755)).unwrap();
        let list = format!(r#"{{"cniVersion":"1.0.0","name":"n1","plugins":[{{"type":"{plugin}"}}]}}"#);
        std::fs::write(path("net.d/10.conflist"), list).unwrap();

        for words in [
            &["add", "n1", "/run/netns/none"][..],
            &["check", "n1", "/run/netns/none"],
            &["del", "n1", "/run/netns/none"],
            &["validate"],
        ] {
            for trace in [&[][..], &["--trace"], &["--trace=json"], &["--json"]] {
                let outcome = Command::new(&cnitool)
                    .args(words)
                    .args(if words == ["validate"] { &[] } else { trace })
                    .env_clear()
                    .env("PATH", "/usr/bin:/bin")
                    .env("CNI_PATH", path("bin"))
                    .env("NETCONFPATH", path("net.d"))
                    .env("CNI_CACHE_DIR", path("cache"))
                    .env("RUST_BACKTRACE", "1")
                    .envs(SECRETS)
                    .output()
                    .unwrap();
                let shown = [outcome.stdout, outcome.stderr].concat();
                let shown = String::from_utf8_lossy(&shown);
                assert!(!shown.contains("hunter2"), "{plugin} {words:?} {trace:?}: {shown}");
                if trace == ["--trace=json"]
                    && words != ["validate"]
                    && plugin != "dying"
                    && words[0] != "check"
                {
                    assert!(shown.contains("REGISTRY_TOKEN"), "{plugin} {words:?}: {shown}");
                }
            }
        }
        // The plugin itself has them: nothing was hidden by not being there.
        let seen = std::fs::read_to_string(seen).unwrap();
        assert!(SECRETS.iter().all(|(name, value)| seen.contains(&format!("{name}={value}"))), "{seen}");
        let kept = Command::new("grep").args(["-rl", "hunter2"]).arg(path("cache")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&kept.stdout), "");
    }
}
