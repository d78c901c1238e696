//! On the real kernel: a container with an interface to each of two routers. Needs root.

use std::process::{Command, Stdio};

use cni_skel::testing::Invocation;
use plugin_attach::testing::{Node, has_tools, pings};
use plugin_support::testing::TestNetns;
use sbr::Sbr;
use serde_json::json;

use crate::{config, state};

/// A container, whose `eth0` leads to one router, which is the default, and whose `net1` to another.
pub(crate) struct Scene {
    pub(crate) node: Node<Sbr>,
    pub(crate) container: TestNetns,
    first: TestNetns,
    second: TestNetns,
}

impl Scene {
    pub(crate) fn new() -> Option<Self> {
        if !has_tools(&["ping"]) {
            return None;
        }
        let scene = Self {
            node: Node::new()?,
            container: TestNetns::new()?,
            first: TestNetns::new()?,
            second: TestNetns::new()?,
        };
        let Self { container, first, second, .. } = &scene;
        for (router, link, number) in [(first, "eth0", 1), (second, "net1", 2)] {
            let path = router.path().display().to_string();
            let pid = path.split('/').nth(2).unwrap().to_owned();
            container.ip(&format!("link add {link} type veth peer name cable netns {pid}"));
            router.ip("link set cable up");
            router.ip("link set lo up");
            container.ip(&format!("link set {link} up"));
            router.ip(&format!("addr add 10.{number}.0.1/24 dev cable"));
            router.ip(&format!("addr add fd0{number}::1/64 dev cable nodad"));
            for host in [5, 6] {
                container.ip(&format!("addr add 10.{number}.0.{host}/24 dev {link}"));
            }
            container.ip(&format!("addr add fd0{number}::5/64 dev {link} nodad"));
        }
        // Somebody behind the second router, whom the first does not know.
        second.ip("addr add 192.0.2.9/32 dev lo");
        second.ip("addr add 2001:db8::9/128 dev lo nodad");
        container.ip("route add default via 10.1.0.1");
        container.ip("-6 route add default via fd01::1");
        container.ip("route add 10.9.0.0/16 via 10.2.0.1");
        Some(scene)
    }

    /// Whether somebody behind the second router reaches the container, at last: on a busy machine, an answer takes its
    /// time.
    fn answers(&self, from: &str, to: &str) -> bool {
        self.pings(&["-c", "1", "-w", "20", "-I", from, to])
    }

    /// Whether nothing answers that somebody within a second.
    fn is_silent(&self, from: &str, to: &str) -> bool {
        !self.pings(&["-c", "1", "-W", "1", "-I", from, to])
    }

    fn pings(&self, args: &[&str]) -> bool {
        let mut ping = Command::new("ping");
        ping.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        self.second.run(|| ping.status()).unwrap().unwrap().success()
    }
}

#[test]
fn answers_leave_by_the_interface_that_the_question_came_by() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, container, first, .. } = &scene;
    let all = [("192.0.2.9", "10.2.0.5"), ("192.0.2.9", "10.2.0.6"), ("2001:db8::9", "fd02::5")];
    for (from, to) in all {
        assert!(scene.is_silent(from, to), "{to} answers by the default route");
    }
    let config = config("1.1.0", &json!({}));
    let call = |call: Invocation| node.run(call.config(&config), &json!({}));
    let added = call(Invocation::add("c1", container.path(), "net1"));
    added.assert_success();
    for (from, to) in all {
        assert!(scene.answers(from, to), "{to}");
    }
    assert!(pings(first, "10.1.0.5"), "the default route is as it was");
    call(Invocation::check("c1", container.path(), "net1").prev_result(added.json())).assert_success();
    for _ in 0..2 {
        call(Invocation::del("c1", "net1").netns(container.path())).assert_success();
        assert!(state(&container.netlink().unwrap()).is_empty());
    }
}

#[test]
fn what_the_kernel_refuses_leaves_everything_as_it_was() {
    let Some(scene) = Scene::new() else { return };
    let Scene { node, container, .. } = &scene;
    let netlink = container.netlink().unwrap();
    for keys in [json!({}), json!({"addSourceHints": true})] {
        let before = state(&netlink);
        let mut config = config("1.0.0", &keys);
        // No such router.
        config["prevResult"]["ips"][2]["gateway"] = json!("2001:db8:7::1");
        let call = Invocation::add("c1", container.path(), "net1").config(&config);
        let outcome = node.run(call, &json!({}));
        assert!(outcome.assert_error(999).msg.starts_with("Failed to add default route to 2001:db8:7::1"));
        assert_eq!(state(&netlink), before);
    }
}

#[test]
fn networks_may_stay_in_the_main_table_and_a_table_be_somebody_elses() {
    for keys in [
        json!({"addSourceHints": true}),
        json!({"table": 1000}),
        json!({"gateways": ["10.2.0.1", "fd02::1"]}),
    ] {
        let Some(scene) = Scene::new() else { return };
        let Scene { node, container, .. } = &scene;
        let config = config("1.0.0", &keys);
        let call = |call: Invocation| node.run(call.config(&config), &json!({}));
        let added = call(Invocation::add("c1", container.path(), "net1"));
        added.assert_success();
        call(Invocation::check("c1", container.path(), "net1").prev_result(added.json())).assert_success();
        call(Invocation::del("c1", "net1").netns(container.path())).assert_success();
        let rules = container.netlink().unwrap().rules().unwrap();
        assert!(rules.iter().all(|rule| rule.source.is_none()), "{keys}");
    }
}
