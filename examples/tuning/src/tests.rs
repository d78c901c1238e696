#![allow(clippy::needless_pass_by_value, reason = "`json!` is said at every call")]

use std::fs;

use cni_skel::testing::{Invocation, Outcome};
use plugin_support::netlink::{LinkChange, LinkKind, NewLink, Peer};
use plugin_support::testing::FakeKernel;
use serde_json::{Value, json};

use super::*;

const NETNS: &str = "/run/netns/x";
const ORIGINAL_MAC: &str = "02:00:00:00:00:01";
const MAC: &str = "02:00:00:00:00:0a";

/// A container with an interface, and a directory for backups and the allowlist.
struct Machine {
    dir: tempfile::TempDir,
    kernel: FakeKernel,
}

impl Machine {
    fn new() -> Self {
        let kernel = FakeKernel::new();
        let netlink = kernel.add_netns(NETNS).netlink().unwrap();
        let mac = plugin_support::Mac([2, 0, 0, 0, 0, 1]);
        netlink.create(&NewLink::new("eth0", LinkKind::Veth(Peer::new("peer0"))).mac(mac)).unwrap();
        Self { dir: tempfile::tempdir().unwrap(), kernel }
    }

    fn run(&self, invocation: Invocation) -> Outcome {
        invocation.run(&Tuning::on(Kernel::from(&self.kernel), self.dir.path().join("allowlist.conf")))
    }

    fn config(&self, keys: Value) -> Value {
        let data_dir = self.dir.path().join("data");
        let mut config =
            json!({"cniVersion": "1.1.0", "name": "net1", "type": "tuning", "dataDir": data_dir});
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        config
    }

    fn add(&self, keys: Value) -> Invocation {
        Invocation::add("c1", NETNS, "eth0").config(self.config(keys)).prev_result(prev_result())
    }

    fn check(&self, keys: Value) -> Invocation {
        Invocation::check("c1", NETNS, "eth0").config(self.config(keys)).prev_result(prev_result())
    }

    fn del(&self) -> Invocation {
        Invocation::del("c1", "eth0").netns(NETNS).config(self.config(json!({})))
    }

    fn netns(&self) -> NetNs {
        Kernel::from(&self.kernel).netns(NETNS).unwrap()
    }

    fn link(&self) -> Link {
        self.netns().netlink().unwrap().link("eth0").unwrap()
    }

    fn change(&self, change: LinkChange<'_>) {
        self.netns().netlink().unwrap().change(&self.link(), &change).unwrap();
    }

    fn sysctl(&self, key: &str) -> String {
        self.netns().sysctl().read(key).unwrap()
    }

    fn backup(&self) -> PathBuf {
        self.dir.path().join("data/c1_eth0.json")
    }

    /// Everything that a failed ADD must leave alone.
    fn state(&self) -> (Link, Vec<String>, bool) {
        let keys = ["net.core.somaxconn", "net.ipv4.conf.eth0.arp_notify"];
        (self.link(), keys.map(|key| self.sysctl(key)).to_vec(), self.backup().exists())
    }
}

fn prev_result() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [
            {"name": "eth0", "mac": "02:00:00:00:00:99"},
            {"name": "eth0", "sandbox": NETNS, "mac": ORIGINAL_MAC, "mtu": 1500},
            {"name": "eth1", "sandbox": NETNS, "mac": "02:00:00:00:00:98"},
        ],
        "ips": [{"interface": 1, "address": "10.2.0.2/24"}],
        "vendor.example/note": 7,
    })
}

fn everything() -> Value {
    json!({
        "sysctl": {"net.core.somaxconn": "500", "net.ipv4.conf.IFNAME.arp_notify": "1"},
        "mac": MAC, "promisc": true, "mtu": 1400, "allmulti": true, "txQLen": 50,
    })
}

#[test]
fn add_changes_everything_and_tells_so() {
    let machine = Machine::new();
    let outcome = machine.run(machine.add(everything()));
    outcome.assert_success();
    assert_eq!(machine.sysctl("net.core.somaxconn"), "500");
    assert_eq!(machine.sysctl("net.ipv4.conf.eth0.arp_notify"), "1");
    let link = machine.link();
    assert_eq!((link.mac.unwrap().to_string().as_str(), link.mtu, link.tx_queue), (MAC, 1400, 50));
    assert!(link::is_promisc(&link) && link.is_allmulti());

    let printed = outcome.json();
    assert_eq!(printed["interfaces"][1]["mac"], MAC);
    assert_eq!(printed["interfaces"][1]["mtu"], 1400);
    assert_eq!(
        printed["interfaces"][0],
        prev_result()["interfaces"][0],
        "the host's interface of that name is another"
    );
    assert_eq!(printed["interfaces"][2], prev_result()["interfaces"][2]);
    assert_eq!(printed["vendor.example/note"], 7);
}

#[test]
fn add_without_settings_passes_the_result_on() {
    let machine = Machine::new();
    let before = machine.kernel.log();
    let outcome = machine.run(machine.add(json!({})));
    outcome.assert_success();
    assert_eq!(outcome.json()["interfaces"], prev_result()["interfaces"]);
    assert_eq!((machine.kernel.log(), machine.backup().exists()), (before, false));
}

#[test]
fn addresses_come_from_every_place() {
    let machine = Machine::new();
    machine.run(machine.add(json!({})).args("MAC=02:00:00:00:00:0b")).assert_success();
    assert_eq!(machine.link().mac.unwrap().to_string(), "02:00:00:00:00:0b");
    machine.run(machine.add(json!({})).capability("mac", "02:00:00:00:00:0c")).assert_success();
    assert_eq!(machine.link().mac.unwrap().to_string(), "02:00:00:00:00:0c");
    machine
        .run(machine.add(json!({})).args("MAC=02:00:00:00:00:0d;IgnoreUnknown=1;K8S_POD_NAME=x"))
        .assert_success();
    let refused = machine.run(machine.add(json!({})).args("MAC=02:00:00:00:00:0d;K8S_POD_NAME=x"));
    assert!(refused.assert_error(4).msg.contains(r#"unknown args ["K8S_POD_NAME=x"]"#));
}

#[test]
fn alone_it_is_refused() {
    let machine = Machine::new();
    let before = machine.state();
    let outcome = machine.run(Invocation::add("c1", NETNS, "eth0").config(machine.config(everything())));
    assert_eq!(outcome.assert_error(7).msg, "Required prevResult missing");
    assert_eq!(machine.state(), before);
}

#[test]
fn c77_the_allowlist_is_asked_before_any_write() {
    let machine = Machine::new();
    fs::write(machine.dir.path().join("allowlist.conf"), "^net.core.somaxconn$\n").unwrap();
    let before = machine.state();
    let outcome = machine.run(machine.add(everything()));
    assert_eq!(
        outcome.assert_error(999).msg,
        "Sysctl net.ipv4.conf.IFNAME.arp_notify is not allowed. Only the following sysctls are allowed: \
         [^net.core.somaxconn$]"
    );
    assert_eq!(machine.state(), before);
    machine.run(machine.add(json!({"sysctl": {"net.core.somaxconn": "500"}}))).assert_success();
    // What is not a sysctl is not the list's business.
    machine.run(machine.add(json!({"mtu": 1400}))).assert_success();

    fs::write(machine.dir.path().join("allowlist.conf"), "").unwrap();
    machine.run(machine.add(json!({"sysctl": {"net.core.somaxconn": "500"}}))).assert_error(999);
}

#[test]
fn c77_arguments_are_no_way_around_the_allowlist() {
    let machine = Machine::new();
    fs::write(machine.dir.path().join("allowlist.conf"), "^net.core.somaxconn$\n").unwrap();
    let keys = json!({"args": {"cni": {"sysctl": {"net.ipv4.ip_forward": "1"}}}});
    machine.run(machine.add(keys)).assert_error(999);
}

#[test]
fn sysctls_of_arguments_alone_do_not_panic() {
    let machine = Machine::new();
    let keys = json!({"args": {"cni": {"sysctl": {"net.core.somaxconn": "600"}}}});
    machine.run(machine.add(keys)).assert_success();
    assert_eq!(machine.sysctl("net.core.somaxconn"), "600");
}

#[test]
fn a_sysctl_that_is_none_is_told_in_gos_words() {
    let machine = Machine::new();
    let outcome = machine.run(machine.add(json!({"sysctl": {"kernel.hostname": "x"}})));
    assert_eq!(outcome.assert_error(7).msg, r#"invalid net sysctl key: "kernel/hostname""#);
    let outcome = machine.run(machine.add(json!({"sysctl": {"net.nope": "1"}})));
    let msg = &outcome.assert_error(999).msg;
    assert!(msg.starts_with("open /proc/sys/net/nope: no such file or directory"), "{msg}");
}

#[test]
fn add_is_all_or_nothing_at_every_step() {
    for refused in ["mac 02", "promisc on", "mtu 1400", "allmulti on", "tx queue 50", "find link with index"]
    {
        let machine = Machine::new();
        let before = machine.state();
        machine.kernel.refuse(refused, 1);
        machine.run(machine.add(everything())).assert_error(999);
        assert_eq!(machine.state(), before, "{refused}");
    }
    let machine = Machine::new();
    let before = machine.state();
    let keys = json!({"sysctl": {"net.core.somaxconn": "500", "net.nope": "1"}, "mtu": 1400});
    machine.run(machine.add(keys)).assert_error(999);
    assert_eq!(machine.state(), before);
}

#[test]
fn c22_del_restores_wherever_add_was_killed() {
    let machine = Machine::new();
    let made = machine.kernel.log().len();
    machine.run(machine.add(everything())).assert_success();
    let changes = machine.kernel.log().len() - made;
    assert!(changes >= 5, "{:#?}", machine.kernel.log());
    for change in 0..changes {
        let machine = Machine::new();
        let before = machine.link();
        // Whatever it would undo stays.
        machine.kernel.die_after(change);
        machine.run(machine.add(everything())).assert_error(999);
        machine.kernel.revive();
        for _ in 0..2 {
            machine.run(machine.del()).assert_success();
            assert_eq!((machine.link(), machine.backup().exists()), (before.clone(), false), "{change}");
        }
    }
}

#[test]
fn a_missing_interface_is_told_and_sysctls_are_undone() {
    let machine = Machine::new();
    let before = machine.state();
    let add = Invocation::add("c1", NETNS, "eth7")
        .config(machine.config(json!({"sysctl": {"net.core.somaxconn": "500"}, "mtu": 1400})));
    let outcome = machine.run(add.prev_result(prev_result()));
    let msg = &outcome.assert_error(999).msg;
    assert!(msg.starts_with(r#"failed to get "eth7": "#), "{msg}");
    assert_eq!(machine.state(), before);
}

#[test]
fn c78_del_restores_and_removes_the_backup() {
    let machine = Machine::new();
    let before = machine.link();
    machine.run(machine.add(everything())).assert_success();
    assert!(machine.backup().exists());
    machine.run(machine.del()).assert_success();
    assert_eq!(machine.link(), before);
    assert!(!machine.backup().exists());
    // The namespace takes sysctls with it.
    assert_eq!(machine.sysctl("net.core.somaxconn"), "500");
    machine.run(machine.del()).assert_success();
    assert_eq!(machine.link(), before);
}

#[test]
fn c78_a_second_add_does_not_forget_the_originals() {
    let machine = Machine::new();
    let before = machine.link();
    machine.run(machine.add(json!({"mtu": 1400}))).assert_success();
    machine.run(machine.add(everything())).assert_success();
    machine.run(machine.del()).assert_success();
    assert_eq!(machine.link(), before);
}

#[test]
fn c22_del_without_a_namespace_removes_the_backup() {
    let machine = Machine::new();
    machine.run(machine.add(everything())).assert_success();
    machine.run(Invocation::del("c1", "eth0").config(machine.config(json!({})))).assert_success();
    assert!(!machine.backup().exists());

    machine.run(machine.add(everything())).assert_success();
    machine.kernel.remove_netns(NETNS);
    machine.run(machine.del()).assert_success();
    assert!(!machine.backup().exists());
    machine.run(machine.del()).assert_success();
}

#[test]
fn c22_del_without_the_interface_removes_the_backup() {
    let machine = Machine::new();
    machine.run(machine.add(everything())).assert_success();
    machine.netns().netlink().unwrap().delete(&machine.link()).unwrap();
    machine.run(machine.del()).assert_success();
    assert!(!machine.backup().exists());
}

#[test]
fn c22_del_reports_what_is_not_just_gone() {
    let machine = Machine::new();
    machine.run(machine.add(everything())).assert_success();
    machine.kernel.refuse(r#"find link "eth0""#, 1);
    machine.run(machine.del()).assert_error(999);
    assert!(machine.backup().exists());
    machine.run(machine.del()).assert_success();
}

#[test]
fn c78_del_with_a_damaged_backup_removes_it() {
    let machine = Machine::new();
    machine.run(machine.add(everything())).assert_success();
    fs::write(machine.backup(), "{\"mtu\":").unwrap();
    machine.run(machine.del()).assert_success();
    assert!(!machine.backup().exists());
}

#[test]
fn c22_del_succeeds_where_a_file_in_the_directorys_place_made_add_fail() {
    let machine = Machine::new();
    fs::write(machine.backup().parent().unwrap(), "").unwrap();
    let outcome = machine.run(machine.add(everything()));
    assert!(outcome.assert_error(999).msg.contains("backup directory"));
    machine.run(machine.del()).assert_success();
}

#[test]
fn c78_what_cannot_be_restored_keeps_its_backup() {
    let machine = Machine::new();
    let before = machine.link();
    machine.run(machine.add(everything())).assert_success();
    machine.kernel.refuse("mtu 1500", 16);
    machine.run(machine.del()).assert_success();
    let link = machine.link();
    assert_eq!(
        (link.mac, link.tx_queue, link.mtu),
        (before.mac, before.tx_queue, 1400),
        "the others are restored"
    );
    assert!(machine.backup().exists());
    machine.run(machine.del()).assert_success();
    assert_eq!(machine.link(), before);
}

#[test]
fn del_does_not_look_at_settings() {
    let machine = Machine::new();
    machine.run(machine.add(json!({"mtu": 1400}))).assert_success();
    let keys = json!({"mac": "nonsense", "sysctl": {"kernel.x": "1"}});
    machine.run(Invocation::del("c1", "eth0").netns(NETNS).config(machine.config(keys))).assert_success();
    assert_eq!(machine.link().mtu, 1500);
}

#[test]
fn check_compares_everything() {
    let machine = Machine::new();
    machine.run(machine.add(everything())).assert_success();
    machine.run(machine.check(everything())).assert_success();

    let refused = |change: LinkChange<'_>, undo: LinkChange<'_>| {
        machine.change(change);
        let outcome = machine.run(machine.check(everything()));
        machine.change(undo);
        outcome.assert_error(999).msg.clone()
    };
    let mac = |n| LinkChange::new().mac([2, 0, 0, 0, 0, n]);
    assert_eq!(
        refused(mac(0x0b), mac(0x0a)),
        "Error: Tuning configured Ethernet of eth0 is 02:00:00:00:00:0a, current value is 02:00:00:00:00:0b"
    );
    assert_eq!(
        refused(LinkChange::new().promisc(false), LinkChange::new().promisc(true)),
        "Error: Tuning link eth0 configured promisc is true, current value is 0"
    );
    assert_eq!(
        refused(LinkChange::new().mtu(1300), LinkChange::new().mtu(1400)),
        "Error: Tuning configured MTU of eth0 is 1400, current value is 1300"
    );
    assert_eq!(
        refused(LinkChange::new().allmulti(false), LinkChange::new().allmulti(true)),
        "Error: Tuning configured all-multicast mode of eth0 is true, current value is false"
    );
    assert_eq!(
        refused(LinkChange::new().tx_queue(51), LinkChange::new().tx_queue(50)),
        "Error: Tuning configured transmit queue length of eth0 is 50, current value is 51"
    );
    machine.netns().sysctl().write("net.core.somaxconn", "501").unwrap();
    assert_eq!(
        machine.run(machine.check(everything())).assert_error(999).msg,
        "Error: Tuning configured value of /proc/sys/net/core/somaxconn is 500, current value is 501"
    );
}

#[test]
fn check_raises_no_false_alarm() {
    let machine = Machine::new();
    // Several fields, an address in upper case, and a link that something else made promiscuous: Go complains of each.
    let keys = json!({"sysctl": {"net.ipv4.ip_local_port_range": "20000 30000"}, "mac": "02:00:00:00:00:AB"});
    machine.run(machine.add(keys.clone())).assert_success();
    machine.netns().sysctl().write("net.ipv4.ip_local_port_range", "20000\t30000").unwrap();
    machine.change(LinkChange::new().promisc(true));
    machine.run(machine.check(keys)).assert_success();
}

#[test]
fn check_of_a_missing_interface_says_so() {
    let machine = Machine::new();
    machine.netns().netlink().unwrap().delete(&machine.link()).unwrap();
    let msg = &machine.run(machine.check(json!({}))).assert_error(999).msg.clone();
    assert!(msg.starts_with("Cannot find container link eth0"), "{msg}");
}

#[test]
fn c64_check_after_add_agrees_with_the_result() {
    let machine = Machine::new();
    let outcome = machine.run(machine.add(json!({"mac": "02-00-00-00-00-AB"})));
    let interface = &outcome.result().interfaces[1];
    assert_eq!(interface.mac, machine.link().mac.map(|mac| mac.to_string()));
    let keys = json!({"mac": "02-00-00-00-00-AB"});
    machine.run(machine.check(keys).prev_result(outcome.json())).assert_success();
}

#[test]
fn gc_removes_the_backups_of_dead_attachments() {
    let machine = Machine::new();
    machine.run(machine.add(everything())).assert_success();
    machine.run(Invocation::gc([("c1", "eth0")]).config(machine.config(json!({})))).assert_success();
    assert!(machine.backup().exists());
    machine.run(Invocation::gc([]).config(machine.config(json!({"name": "net2"})))).assert_success();
    assert!(machine.backup().exists(), "another network's");
    machine.run(Invocation::gc([("c2", "eth0")]).config(machine.config(json!({})))).assert_success();
    assert!(!machine.backup().exists());
}

#[test]
fn status_says_whether_add_could_work() {
    let machine = Machine::new();
    machine.run(Invocation::status().config(machine.config(json!({})))).assert_success();
    assert!(!machine.dir.path().join("data").exists(), "asking makes nothing");
    let keys = json!({"dataDir": "/proc/self/none"});
    let outcome = machine.run(Invocation::status().config(machine.config(keys)));
    assert!(outcome.assert_error(50).msg.starts_with("no interface can be tuned: "));
    fs::write(machine.dir.path().join("allowlist.conf"), "(").unwrap();
    machine.run(Invocation::status().config(machine.config(json!({})))).assert_error(50);
}

#[test]
fn old_results_are_passed_on_in_their_version() {
    let machine = Machine::new();
    let add = Invocation::add("c1", NETNS, "eth0")
        .config(machine.config(json!({"cniVersion": "0.2.0", "mtu": 1400})))
        .prev_result(json!({"cniVersion": "0.2.0", "ip4": {"ip": "10.2.0.2/24"}}));
    let outcome = machine.run(add);
    outcome.assert_success();
    assert_eq!(outcome.json()["ip4"]["ip"], "10.2.0.2/24");
}
