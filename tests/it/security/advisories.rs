//! The public advisories about Go's plugins, tried on ours.

use std::time::{Duration, Instant};

use cni_tests::bins::Plugin::Ours;
use cni_tests::netns::Netns;
use cni_tests::private_host::PrivateHost;
use serde_json::{Value, json};

/// Sends router advertisements with a prefix and a default route to everyone on a link, as a hostile container would.
const ADVERTISE: &str = r#"
import socket, struct, sys, time
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
index = socket.if_nametoindex(sys.argv[1])
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
prefix = socket.inet_pton(socket.AF_INET6, "2001:db8:bad::")
option = struct.pack("!BBBBIII", 3, 4, 64, 0xc0, 86400, 14400, 0) + prefix
ra = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + option
for _ in range(5):
    s.sendto(ra, ("ff02::1", 0, 0, index))
    time.sleep(0.2)
"#;

/// A container's router advertisements must not give the host a route or an address.
#[test]
fn cve_2020_10749_the_host_takes_no_router_advertisements_from_containers() {
    for plugin in ["bridge", "ptp"] {
        let plugins = [Ours("cnitool"), Ours(plugin), Ours("host-local")];
        let Some(host) = PrivateHost::start(&["python3"], &plugins) else { return };
        // No router: only those that are none believe advertisements.
        host.add_network(&json!({"cniVersion": "1.0.0", "name": "mynet", "plugins": [
            {"type": plugin, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24"}], [{"subnet": "fd00:244::/64"}]]}},
        ]}));
        let netns = host.netns("c1");
        let path = netns.path();
        host.run(["/opt/cni/bin/cnitool", "add", "mynet", path.to_str().unwrap()]);
        host.run(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=0"]);
        let learnt = || {
            let shown = host.run(["bash", "-c", "ip -6 -o addr; ip -6 route show table all"]).stdout;
            shown.contains("2001:db8:bad") || shown.contains("proto ra")
        };
        let advertise = || {
            // Until the container has a link-local address to send from.
            for _ in 0..50 {
                if netns.command(&["python3", "-c", ADVERTISE, "eth0"]).attempt().success() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            panic!("cannot advertise");
        };
        advertise();
        assert!(!learnt(), "{plugin}");

        // Where the setting is the kernel's, the host believes it: the advertisement is a good one.
        let links: Value = host.run(["ip", "-j", "link"]).json();
        for link in links.as_array().unwrap() {
            let name = link["ifname"].as_str().unwrap().split('@').next().unwrap();
            let key = format!("/proc/sys/net/ipv6/conf/{name}/accept_ra");
            if name != "lo" {
                assert_eq!(host.run(["cat", &key]).stdout.trim(), "0", "{plugin} {name}");
            }
            host.run(["bash", "-c", &format!("echo 2 >{key}")]);
        }
        advertise();
        assert!(learnt(), "{plugin}: the advertisement is believed by nobody");
    }
}

/// A published port must not take connections to other machines that happen to have the same port.
#[test]
fn ghsa_jv3w_x3r3_g6rm_a_published_port_takes_no_foreign_traffic() {
    for backend in ["nftables", "iptables"] {
        let plugins = ["cnitool", "bridge", "host-local", "portmap"].map(Ours);
        let Some(host) = PrivateHost::start(&["busybox", "iptables-restore"], &plugins) else { return };
        let neighbour = host.neighbour();
        host.add_network(&json!({"cniVersion": "1.0.0", "name": "mynet", "plugins": [
            {"type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "ipMasq": true, "hairpinMode": true,
                "ipam": {"type": "host-local", "subnet": "10.244.1.0/24"}},
            {"type": "portmap", "backend": backend, "capabilities": {"portMappings": true}},
        ]}));
        let serve = |name: &'static str| ["busybox", "nc", "-ll", "-p", "80", "-e", "/bin/echo", name];
        let (published, other) = (host.netns("published"), host.netns("other"));
        let _published = published.command(&serve("published")).spawn();
        let mut words = serve("neighbour");
        words[4] = "8080";
        let _neighbour = neighbour.netns.command(&words).spawn();
        for (netns, ports) in
            [(&published, json!([{"hostPort": 8080, "containerPort": 80}])), (&other, json!([]))]
        {
            let path = netns.path();
            let add = host.command(["/opt/cni/bin/cnitool", "add", "mynet", path.to_str().unwrap()]);
            add.env("CAP_ARGS", json!({"portMappings": ports}).to_string()).run();
        }
        // Again while nobody answers: who is to answer may not listen yet.
        let dial = |from: Option<&Netns>, address| {
            let words = ["busybox", "nc", "-w", "5", address, "8080"];
            let deadline = Instant::now() + Duration::from_secs(20);
            loop {
                let call = from.map_or_else(|| host.command(words), |netns| netns.command(&words));
                let ran = call.attempt();
                if !ran.stdout.is_empty() || Instant::now() > deadline {
                    return ran;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        };
        // The host's own address is the container's, another machine's is not: neither from the host nor from a container,
        // which the host forwards.
        for (address, name) in [("203.0.113.1", "published"), ("203.0.113.2", "neighbour")] {
            for from in [None, Some(&other)] {
                let ran = dial(from, address);
                assert_eq!(ran.stdout.trim(), name, "{backend}: {ran}");
            }
        }
    }
}
