//! What only the program itself shows: its stderr, and a disk of its own.

use serde_json::{Value, json};

use super::lab::{C1, Lab};

/// A shell script that runs the plugin with this configuration on its stdin.
fn call(command: &str, lab: &Lab, config: &Value) -> String {
    format!(
        "CNI_COMMAND={command} CNI_CONTAINERID=c1 CNI_IFNAME=eth0 CNI_PATH=/nowhere CNI_NETNS={} {} <<'END'\n{config}\nEND\n",
        lab.c1.path().display(),
        env!("CARGO_BIN_EXE_firewall"),
    )
}

#[test]
fn del_succeeds_where_add_had_room_for_no_record() {
    for lab in Lab::each("ACCEPT") {
        let dir = tempfile::tempdir().unwrap();
        let records = dir.path().join("records");
        let mut config = lab.chained(&json!({}), C1);
        config["dataDir"] = json!(records);
        // The root, and the directory of records.
        let disk = format!("set -e\nmount -t tmpfs -o nr_inodes=2 tmpfs {}", dir.path().display());
        let add = call("ADD", &lab, &config);
        let del = call("DEL", &lab, &config);
        let script =
            format!("{disk}\nif {add}then exit 9; fi\ntest -d {}\n{del}echo done", records.display());
        let told = lab.node.netns.command("unshare", ["--mount", "sh", "-c", &script]);
        assert!(told.contains("no space left on device") && told.ends_with("done"), "{told}");
    }
}

#[test]
fn the_first_container_alone_tells_of_policies_that_drop() {
    // Its table is there, with the hooked chain, as whoever administers the host may have it.
    let Some(lab) = Lab::new("nftables", "DROP") else { return };
    lab.node.netns.command("iptables", ["-P", "FORWARD", "DROP"]);
    let add = || {
        let script = format!("exec 2>&1\n{}", call("ADD", &lab, &lab.chained(&json!({}), C1)));
        lab.node.netns.command("sh", ["-c", &script])
    };
    let told = add();
    assert!(told.contains("policy of nftables chain \"ip filter FORWARD\" is to drop"), "{told}");
    let told = add();
    assert!(!told.contains("is to drop"), "{told}");
}
