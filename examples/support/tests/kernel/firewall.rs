//! The real programs, in namespaces of their own. Nothing here may skip where they are installed.

use std::net::{SocketAddr, UdpSocket};

use plugin_support::firewall::iptables::{Change, Iptables, value_of};
use plugin_support::firewall::nft::{Nft, quoted};
use plugin_support::firewall::probe::Backend;
use plugin_support::firewall::{Call, Family, SystemTools, Tools};
use plugin_support::netns::NetNs;
use plugin_support::testing::{TestNetns, skip};

/// A namespace and the programs, unless one is missing.
fn with(programs: &[&str]) -> Option<(TestNetns, SystemTools)> {
    let tools = SystemTools::default();
    for program in programs {
        if tools.run(&Call::new(*program, ["--version"])).is_err() {
            skip(&format!("no program {program:?}"));
            return None;
        }
    }
    Some((TestNetns::new()?, tools))
}

#[test]
fn a_change_of_rules_is_all_or_nothing() {
    let Some((netns, tools)) = with(&["iptables-restore", "ip6tables-restore"]) else { return };
    for family in [Family::V4, Family::V6] {
        netns
            .run(|| {
                let iptables = Iptables::new(&tools, family);
                assert!(iptables.table("nat").unwrap().rules("CNI-1").is_empty());
                let comment = r#"name: "br" id: "c\1""#;
                let change = Change::to("nat")
                    .chain("CNI-1")
                    .append("CNI-1", ["-m", "comment", "--comment", comment, "-j", "RETURN"])
                    .insert("PREROUTING", ["-j", "CNI-1"]);
                iptables.commit(&change).unwrap();
                let before = iptables.table("nat").unwrap();
                assert_eq!(value_of(&before.rules("CNI-1")[0], "--comment"), Some(comment));
                assert_eq!(before.rules("PREROUTING"), [["-j", "CNI-1"]]);

                let broken = Change::to("nat")
                    .append("PREROUTING", ["-j", "RETURN"])
                    .append("CNI-1", ["-j", "CNI-missing"]);
                let error = iptables.commit(&broken).unwrap_err();
                assert!(error.to_string().ends_with(r#"(at "-A CNI-1 -j CNI-missing")"#), "{error}");
                assert_eq!(iptables.table("nat").unwrap(), before, "the first line must not have stayed");

                let rule = before.rules("PREROUTING")[0].clone();
                let undo = Change::to("nat").delete("PREROUTING", rule).chain("CNI-1").delete_chain("CNI-1");
                iptables.commit(&undo).unwrap();
                let after = iptables.table("nat").unwrap();
                assert!(!after.has_chain("CNI-1") && after.rules("PREROUTING").is_empty());
                assert!(iptables.commit(&undo).is_err(), "there is no such rule any more");
            })
            .unwrap();
    }
}

#[test]
fn parallel_changes_all_arrive() {
    let Some((netns, tools)) = with(&["iptables-restore"]) else { return };
    std::thread::scope(|scope| {
        for n in 0..10 {
            let (netns, tools) = (&netns, tools.clone());
            scope.spawn(move || {
                let chain = format!("CNI-{n}");
                let change = Change::to("nat").chain(&chain).append("PREROUTING", ["-j", &chain]);
                netns.run(|| Iptables::new(&tools, Family::V4).commit(&change)).unwrap().unwrap();
            });
        }
    });
    let table = netns.run(|| Iptables::new(&tools, Family::V4).table("nat")).unwrap().unwrap();
    assert_eq!(table.rules("PREROUTING").len(), 10);
}

#[test]
fn a_script_is_all_or_nothing() {
    let Some((netns, tools)) = with(&["nft"]) else { return };
    netns
        .run(|| {
            let nft = Nft::new(&tools);
            assert_eq!(nft.table("ip", "cni_test").unwrap(), None);
            let comment = quoted("net: br, id: c1").unwrap();
            nft.run(&format!(
                "add table ip cni_test\n\
                 add chain ip cni_test pre {{ type nat hook prerouting priority -100; }}\n\
                 add rule ip cni_test pre tcp dport 8080 dnat to 10.1.0.5:80 comment {comment}\n"
            ))
            .unwrap();
            let table = nft.table("ip", "cni_test").unwrap().unwrap();
            assert_eq!(
                (table.chains[0].hook.as_deref(), table.chains[0].priority),
                (Some("prerouting"), Some(-100))
            );
            let rule = table.commented("net: br, id: c1").next().unwrap();

            let delete = format!("delete rule ip cni_test pre handle {}\n", rule.handle);
            let error = nft.run(&format!("{delete}delete table ip cni_missing\n")).unwrap_err();
            assert!(error.to_string().contains("No such file or directory"), "{error}");
            assert_eq!(nft.table("ip", "cni_test").unwrap().unwrap(), table, "the rule must have stayed");
            nft.run(&delete).unwrap();
            assert!(nft.table("ip", "cni_test").unwrap().unwrap().rules.is_empty());
        })
        .unwrap();
}

#[test]
fn a_table_made_with_nft_is_not_shown_by_halves() {
    let Some((netns, tools)) = with(&["iptables-save", "nft"]) else { return };
    netns
        .run(|| {
            let version = tools.run(&Call::new("iptables-save", ["--version"])).unwrap().stdout;
            Nft::new(&tools)
                .run("add table ip nat\nadd chain ip nat X\nadd rule ip nat X fib daddr type local accept\n")
                .unwrap();
            let table = Iptables::new(&tools, Family::V4).table("nat");
            // The legacy program has tables of its own.
            assert_eq!(table.is_err(), version.contains("nf_tables"), "{table:?}");
        })
        .unwrap();
}

#[test]
fn both_backends_work_here() {
    let Some((netns, tools)) = with(&["iptables", "nft"]) else { return };
    netns
        .run(|| {
            assert_eq!(Backend::detect(&tools).unwrap(), Backend::Iptables);
            Backend::Nftables.check(&tools).unwrap();
        })
        .unwrap();
}

#[test]
fn c73_udp_flows_to_a_host_port_are_forgotten() {
    let Some((netns, tools)) = with(&["nft", "conntrack"]) else { return };
    netns.ip("link set lo up");
    netns
        .run(|| {
            // A rule that looks at connections makes the kernel track them.
            Nft::new(&tools)
                .run(
                    "add table inet t\nadd chain inet t c { type filter hook output priority 0; }\n\
                     add rule inet t c ct state new counter\n",
                )
                .unwrap();
            for (family, address) in [(Family::V4, "127.0.0.1"), (Family::V6, "::1")] {
                let local = SocketAddr::new(address.parse().unwrap(), 0);
                let sender = UdpSocket::bind(local).unwrap();
                for port in [8125, 8126, 8127] {
                    sender.send_to(b"x", SocketAddr::new(local.ip(), port)).unwrap();
                }
                let conntrack = NetNs::current().unwrap().conntrack().unwrap();
                assert_eq!(conntrack.forget_udp(family, &[]).unwrap(), 0);
                assert_eq!(conntrack.forget_udp(family, &[9999]).unwrap(), 0);
                assert_eq!(conntrack.forget_udp(family, &[8125, 8127]).unwrap(), 2);
                assert_eq!(conntrack.forget_udp(family, &[8125, 8127]).unwrap(), 0);
                let name = if family == Family::V4 { "ipv4" } else { "ipv6" };
                let list = Call::new("conntrack", ["-L", "-p", "udp", "-f", name]);
                let left = tools.run(&list).unwrap().stdout;
                assert!(left.contains("dport=8126") && !left.contains("dport=8125"), "{left}");
            }
        })
        .unwrap();
}
