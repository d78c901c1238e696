//! `list`: what is found, in which order, and what is not used.

use crate::support::Host;

#[test]
fn c36_the_order_and_the_skipped_files_are_told() {
    let host = Host::new();
    host.conf(
        "05-old.conf",
        r#"{"cniVersion":"0.4.0","name":"old","type":"bridge","ipam":{"type":"host-local"}}"#,
    )
    .conf(
        "10-new.conflist",
        r#"{"cniVersion":"1.0.0","name":"new","plugins":[{"type":"bridge"},{"type":"portmap"}]}"#,
    )
    .conf("20-again.conflist", r#"{"cniVersion":"1.1.0","name":"new","plugins":[{"type":"other"}]}"#)
    .conf("00-bad.conflist", "{\n  \"name\": \"b d\",\n  \"plugins\": [{\"type\": \"../x\"}]\n}")
    .conf("10-new.conflist.temp", "{");
    insta::assert_snapshot!(host.cnitool(&["list"]).good().stdout, @r#"
       NETWORK  VERSION  PLUGINS          FILE
    *  new      1.0.0    bridge, portmap  10-new.conflist
       old      0.4.0    bridge           05-old.conf

    * is the one that a runtime takes when nobody says which.

    Not used:
      DIR/net.d/00-bad.conflist:2:11: name: invalid characters found in network name "b d": must start with a letter or digit, followed by letters, digits, '_', '.' or '-'
      DIR/net.d/00-bad.conflist:3:24: plugins[0].type: invalid plugin type "../x": must be the file name of a plugin, not a path
      DIR/net.d/20-again.conflist: network "new" is taken from DIR/net.d/10-new.conflist
      DIR/net.d/10-new.conflist.temp: not read, its name does not end in .conflist, .conf or .json
    "#);
    insta::assert_snapshot!("list_json", host.cnitool(&["list", "--json"]).good().stdout);
}

#[test]
fn c38_it_is_told_which_drop_in_files_are_used() {
    let host = Host::new();
    host.conf("10-n1.conflist", r#"{"cniVersion":"1.1.0","name":"n1","plugins":[{"type":"bridge"}]}"#)
        .conf("n1/20-t.conf", r#"{"type":"tuning"}"#)
        .conf("n1/30-x.json", r#"{"type":"x"}"#)
        .conf("20-n2.conflist", r#"{"cniVersion":"1.1.0","name":"n2","loadOnlyInlinedPlugins":true,"plugins":[{"type":"bridge"}]}"#)
        .conf("n2/20-t.conf", r#"{"type":"tuning"}"#)
        .conf("30-n3.conflist", r#"{"cniVersion":"1.1.0","name":"n3","loadOnlyInlinedPlugins":true}"#)
        .conf("40-n4.conflist", r#"{"cniVersion":"1.1.0","name":"n4"}"#);
    insta::assert_snapshot!(host.cnitool(&["list"]).good().stdout, @r#"
       NETWORK  VERSION  PLUGINS                        FILE
    *  n1       1.1.0    bridge, tuning (n1/20-t.conf)  10-n1.conflist
       n2       1.1.0    bridge                         20-n2.conflist

    * is the one that a runtime takes when nobody says which.

    Not used:
      DIR/net.d/30-n3.conflist:1:1: plugins: missing, and 'loadOnlyInlinedPlugins' is true, so that nothing could be run
      DIR/net.d/40-n4.conflist:1:1: plugins: missing, and there is no .conf file in DIR/net.d/n4, expected at least one plugin
      DIR/net.d/n1/30-x.json: not a plugin of network "n1", its name does not end in .conf
      DIR/net.d/n2/20-t.conf: not a plugin of network "n2", which sets loadOnlyInlinedPlugins
    "#);
    // What is listed is what runs.
    for plugin in ["bridge", "tuning"] {
        host.plugin(plugin, &[("ADD", r#"{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/16"}]}"#)]);
    }
    host.cnitool(&["add", "n1", "/run/netns/t"]).good();
    host.cnitool(&["add", "n2", "/run/netns/t"]).good();
    assert_eq!(host.calls(), ["ADD bridge eth0", "ADD tuning eth0", "ADD bridge eth0"]);
}

#[test]
fn a_network_of_an_unknown_version_is_no_default() {
    let host = Host::new();
    host.conf("10-n1.conflist", r#"{"cniVersion":"9.9.9","name":"n1","plugins":[{"type":"bridge"}]}"#);
    insta::assert_snapshot!(host.cnitool(&["list"]).good().stdout, @r#"
      NETWORK  VERSION  PLUGINS  FILE
      n1       9.9.9    bridge   10-n1.conflist

    Not used:
      DIR/net.d/10-n1.conflist: configuration version "9.9.9" is not supported, expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0
    "#);
}

#[test]
fn a_folder_without_networks_is_none_the_less_told() {
    let host = Host::new();
    insta::assert_snapshot!(host.cnitool(&["list", "--conf-dir", "nowhere"]).good().stdout, @"no networks in nowhere");
    let outcome = host.cnitool(&["list", "--json"]).good();
    assert_eq!(outcome.json()["networks"], serde_json::json!([]));
}
