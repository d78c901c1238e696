//! `version`: what plugins support.

use crate::support::Host;

pub(crate) const UP_TO_0_4_0: &str =
    r#"{"cniVersion":"0.4.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0"]}"#;

fn host() -> Host {
    let host = Host::new();
    host.conf(
        "10-n1.conflist",
        r#"{"cniVersion":"1.0.0","name":"n1","plugins":[{"type":"bridge","ipam":{"type":"host-local"}},{"type":"portmap"}]}"#,
    );
    host.plugin("bridge", &[]).plugin("host-local", &[("VERSION", UP_TO_0_4_0)]);
    host.plugin(
        "portmap",
        &[("VERSION", r#"{"cniVersion":"1.0.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}"#)],
    );
    host
}

#[test]
fn the_plugins_of_a_network_are_asked_and_those_that_they_call() {
    let host = host();
    insta::assert_snapshot!(host.cnitool(&["version", "n1"]).good().stdout, @r#"
    network "n1", version 1.0.0 (DIR/net.d/10-n1.conflist)
    PLUGIN                       SUPPORTS
    bridge                       0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0
    host-local (ipam of bridge)  0.1.0 0.2.0 0.3.0 0.3.1 0.4.0
    portmap                      0.3.1 0.4.0 1.0.0
    best common version: 0.4.0
    "#);
    insta::assert_snapshot!("version_json", host.cnitool(&["version", "n1", "--json"]).good().stdout);
}

#[test]
fn a_plugin_is_asked_by_name_or_path() {
    let host = host();
    for plugin in ["portmap", "bin/portmap", host.path("bin/portmap").to_str().unwrap()] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(host.cnitool(&["version", plugin]).good().stdout, @"
            PLUGIN   SUPPORTS
            portmap  0.3.1 0.4.0 1.0.0
            ");
        }
    }
    let outcome = host.cnitool(&["version", "n2"]).bad(1);
    insta::assert_snapshot!(outcome.stderr, @r#"error: no net configuration with name "n2" in DIR/net.d, which has "n1"; and plugin "n2" was not executed for VERSION: failed to find plugin "n2" in path [DIR/bin]: "DIR/bin" (no such file)"#);
}

#[test]
fn a_directory_is_asked_and_what_does_not_answer_is_told() {
    let host = host();
    host.write("bin/README.md", "not a plugin");
    host.write("told/portmap.VERSION.stdout", "hello");
    let outcome = host.cnitool(&["version", "./bin"]);
    insta::assert_snapshot!(outcome, @r#"
    exit status 1
    --- stdout
    DIR/bin
    PLUGIN      SUPPORTS
    bridge      0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0
    host-local  0.1.0 0.2.0 0.3.0 0.3.1 0.4.0
    portmap     plugin "portmap" (DIR/bin/portmap) answered VERSION with exit status 0, but unreadably: stdout "hello", stderr "": cannot decode version info: expected value at line 1 column 1
    best common version of those that answered: 0.4.0
    "#);
}

#[test]
fn by_default_every_directory_of_the_search_path_is_asked() {
    let host = host();
    let told = host.cnitool(&["version", "--plugin-path", "bin:nowhere"]);
    assert_eq!(told.status, 0, "{told}");
    assert!(told.stdout.contains("DIR/bin\n") && told.stdout.contains("cannot use DIR/nowhere"), "{told}");
}

#[test]
fn not_every_program_of_the_system_is_run() {
    let outcome = Host::new().cnitool(&["version", "/usr/sbin"]).bad(2);
    insta::assert_snapshot!(outcome.stderr, @"error: NET|PLUGIN|DIR: will not run every program in /usr/sbin to ask for versions: name one plugin");
}

#[test]
fn a_plugin_from_before_versions_counts_as_0_1_0() {
    let host = host();
    host.failing("portmap", "VERSION", 4, "unknown CNI_COMMAND: VERSION");
    let told = host.cnitool(&["version", "portmap", "--json"]).good().json();
    assert_eq!(told[0]["plugins"][0]["supportedVersions"], serde_json::json!(["0.1.0"]));
}
