//! On the real kernel: one namespace plays the host, another the container. Needs root.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bandwidth::Bandwidth;
use cni_skel::testing::Invocation;
use plugin_attach::testing::Node;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};

use crate::{both_ways, chained, config, ifbs, on_end, pair};

/// A node and a container that can talk to each other.
fn scene() -> Option<(Node<Bandwidth>, TestNetns)> {
    let (node, container) = (Node::<Bandwidth>::new()?, TestNetns::new()?);
    pair(&node.netns, &container, "eth0", "veth0");
    node.netns.ip("addr add 10.1.0.1/24 dev veth0");
    container.ip("addr add 10.1.0.5/24 dev eth0");
    Some((node, container))
}

/// How many bytes arrive from one namespace in another while the sender sends for so long, and until it stops.
fn arrives(from: &TestNetns, to: &TestNetns, address: &str, time: Duration) -> u64 {
    let listener = to.run(|| TcpListener::bind((address, 0))).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let mut sender = from.run(|| TcpStream::connect(address)).unwrap().unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            sender.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
            let start = Instant::now();
            while start.elapsed() < time * 2 {
                match sender.write(&[0; 16 * 1024]) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    // The receiver has seen enough.
                    Err(_) => break,
                }
            }
        });
        let (mut bytes, mut buffer, start) = (0, vec![0; 256 * 1024], Instant::now());
        while start.elapsed() < time {
            match receiver.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => bytes += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
        bytes
    })
}

#[test]
fn a_rate_limit_holds_either_way() {
    let Some((node, container)) = scene() else { return };
    let time = Duration::from_secs(1);
    // Four megabits a second, and twenty kilobytes at once.
    let limit = json!({"ingressRate": 4_000_000, "ingressBurst": 160_000, "egressRate": 4_000_000, "egressBurst": 160_000});
    let config = config("1.0.0", &limit);
    let in_and_out = || {
        let into = arrives(&node.netns, &container, "10.1.0.5", time);
        (into, arrives(&container, &node.netns, "10.1.0.1", time))
    };
    // Half a megabyte in a second; twice that is generous, and without the limit it is far more.
    let most = 1_000_000;
    let added = node.add("c1", &container, &config, &json!({}));
    let (into, out) = in_and_out();
    assert!(into > 0 && into < most, "{into} bytes into the container");
    assert!(out > 0 && out < most, "{out} bytes out of the container");
    node.check("c1", &container, &config, &added).assert_success();
    node.del("c1", &container, &config);
    let (into, out) = in_and_out();
    assert!(into > 2 * most && out > 2 * most, "{into} bytes in, {out} out without limit");
}

/// How many bytes a link has sent, as the kernel counts.
fn sent(netns: &TestNetns, link: &str) -> u64 {
    let links: Vec<Value> = serde_json::from_str(&netns.ip(&format!("-s -j link show dev {link}"))).unwrap();
    links[0]["stats64"]["tx"]["bytes"].as_u64().unwrap()
}

#[test]
fn interfaces_of_one_container_are_limited_each_for_itself() {
    let Some((node, container)) = scene() else { return };
    pair(&node.netns, &container, "net1", "veth1");
    node.netns.ip("addr add 10.2.0.1/24 dev veth1");
    container.ip("addr add 10.2.0.5/24 dev net1");
    let limits = json!({"egressRate": 4_000_000, "egressBurst": 160_000});
    let call = |call: Invocation, config: &Value| node.run(call.config(config), &json!({})).assert_success();
    let (first, second) = (config("1.0.0", &limits), chained("1.0.0", &limits, "net1", "veth1"));
    call(Invocation::add("c1", container.path(), "eth0"), &first);
    call(Invocation::add("c1", container.path(), "net1"), &second);
    let host = node.netns.netlink().unwrap();
    // Each with its own link, the first's with Go's name.
    let ifb = |end: &str| {
        let redirects = host.redirects(&host.link(end).unwrap()).unwrap();
        host.link_by_index(redirects[0]).unwrap().name
    };
    let (first_ifb, second_ifb) = (ifb("veth0"), ifb("veth1"));
    let time = Duration::from_secs(1);
    for (address, own, other) in
        [("10.1.0.1", &first_ifb, &second_ifb), ("10.2.0.1", &second_ifb, &first_ifb)]
    {
        let before = (sent(&node.netns, own), sent(&node.netns, other));
        let bytes = arrives(&container, &node.netns, address, time);
        assert!(bytes > 0 && bytes < 1_000_000, "{bytes} bytes to {address}");
        assert!(sent(&node.netns, own) - before.0 >= bytes, "{address} passes by {own}");
        // Neighbours and routers are asked for there, no more.
        assert!(sent(&node.netns, other) - before.1 < bytes / 2, "{address} passes by {other}");
    }
    // One goes, and the other stays limited.
    call(Invocation::del("c1", "eth0").netns(container.path()), &first);
    assert_eq!(ifbs(&host), [second_ifb.as_str()]);
    assert!(arrives(&container, &node.netns, "10.2.0.1", time) < 1_000_000);
    call(Invocation::del("c1", "net1").netns(container.path()), &second);
    assert!(ifbs(&host).is_empty());
}

#[test]
fn add_check_and_del_twice() {
    let Some((node, container)) = scene() else { return };
    let config = config("1.1.0", &both_ways());
    let host = node.netns.netlink().unwrap();
    for _ in 0..2 {
        let added = node.add("c1", &container, &config, &json!({}));
        assert_eq!(on_end(&host, "veth0"), (1, 1, 1));
        assert!(
            node.netns.command("tc", ["qdisc", "show", "dev", "veth0"]).contains("rate 1Mbit burst 10000b")
        );
        node.check("c1", &container, &config, &added).assert_success();
        for _ in 0..2 {
            node.del("c1", &container, &config);
            assert_eq!((on_end(&host, "veth0"), ifbs(&host).len()), ((0, 0, 0), 0));
        }
    }
    // What a DEL has left that knew of no pair makes room.
    node.netns
        .command("tc", "qdisc add dev veth0 root handle 1: tbf rate 5mbit burst 10kb limit 20kb".split(' '));
    let added = node.add("c1", &container, &config, &json!({}));
    node.check("c1", &container, &config, &added).assert_success();
    node.run(Invocation::del("c1", "eth0").config(&config), &json!({})).assert_success();
    assert_eq!((on_end(&host, "veth0"), ifbs(&host).len()), ((0, 0, 0), 0));
    // STATUS leaves nothing.
    let outcome = node.run(cni_skel::testing::Invocation::status().config(&config), &json!({}));
    outcome.assert_success();
    assert!(ifbs(&host).is_empty());
}

#[test]
fn the_largest_numbers_are_taken_and_found_again() {
    let Some((node, container)) = scene() else { return };
    for (rate, burst) in
        [(8_000, 34_359_738_352_u64), (100_000_000_000_u64, 8_000_000_000), (5_000_000, 2_147_483_647)]
    {
        let keys =
            json!({"ingressRate": rate, "ingressBurst": burst, "egressRate": rate, "egressBurst": burst});
        let config = config("1.0.0", &keys);
        let added = node.add("c1", &container, &config, &json!({}));
        node.check("c1", &container, &config, &added).assert_success();
        node.del("c1", &container, &config);
    }
}
