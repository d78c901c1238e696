//! On a made-up kernel, without root.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cni_skel::testing::{Invocation, Outcome};
use cni_skel::types::Command;
use host_device::HostDevice;
use ipnetwork::IpNetwork;
use plugin_attach::Owner;
use plugin_attach::testing::{NETNS, World, addresses, commands};
use plugin_support::netlink::{LinkChange, LinkKind, NewAddress, NewLink, Peer};
use serde_json::{Value, json};

use crate::{l2, l3};

const MAC: &str = "02:00:00:00:00:05";

/// A host with a device that is up and has an address.
fn world() -> World<HostDevice> {
    let world = World::<HostDevice>::new(|_, fake| HostDevice::on(fake.into(), "/sys"));
    let host = world.host();
    let link = NewLink::new("ens5", LinkKind::Veth(Peer::new("cable"))).mac([2, 0, 0, 0, 0, 5]);
    host.create(&link).unwrap();
    let ens5 = host.link("ens5").unwrap();
    host.set_up(&ens5).unwrap();
    host.set_up(&host.link("cable").unwrap()).unwrap();
    let network: IpNetwork = "192.0.2.7/24".parse().unwrap();
    host.add_address(&ens5, &NewAddress::new(network)).unwrap();
    world
}

/// Names of links and of what their aliases say.
fn seen(netlink: &plugin_support::netlink::Handle) -> Vec<(String, Option<String>)> {
    netlink.links().unwrap().into_iter().map(|link| (link.name, link.alias)).collect()
}

fn names(netlink: &plugin_support::netlink::Handle) -> Vec<String> {
    seen(netlink).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_device_moves_in_and_back() {
    for keys in [json!({}), json!({"device": "", "hwaddr": "02-00-00-00-00-05"})] {
        let world = world();
        let added = world.add(&l3(&keys));
        added.assert_success();
        assert_eq!(names(&world.host()), ["lo", "cable"]);
        let eth0 = world.inside().link("eth0").unwrap();
        assert!(eth0.is_up() && eth0.alias.as_deref() == Some("ens5"));
        assert_eq!(addresses(&world.inside(), "eth0"), ["10.1.0.5/24"]);
        let result = added.result();
        let interface = &result.interfaces[0];
        assert_eq!((interface.name.as_str(), interface.mac.as_deref()), ("eth0", Some(MAC)));
        assert_eq!((interface.sandbox.as_deref(), result.ips[0].interface), (Some(NETNS), Some(0)));
        world.check(&l3(&keys), &added).assert_success();
        for _ in 0..2 {
            let outcome = world.del(&l3(&keys));
            outcome.assert_success();
            assert_eq!(commands(&outcome), [Command::Del]);
            assert_eq!(names(&world.inside()), ["lo"]);
            let ens5 = world.host().link("ens5").unwrap();
            assert!(ens5.alias.is_none() && !ens5.is_up());
        }
        world.add(&l3(&keys)).assert_success();
    }
}

#[test]
fn without_ipam_it_is_a_link_alone() {
    let world = world();
    let added = world.add(&l2(&json!({})));
    let result = added.result();
    assert_eq!((result.interfaces.len(), result.ips.len()), (1, 0));
    assert!(world.inside().link("eth0").unwrap().is_up());
    world.check(&l2(&json!({})), &added).assert_success();
    world.del(&l2(&json!({}))).assert_success();
    let before = world.fake.log();
    world.add(&l2(&json!({"cniVersion": "0.2.0"}))).assert_error(999);
    assert_eq!(world.fake.log(), before, "an old result cannot tell it");
}

#[test]
fn what_the_configuration_can_tell_is_told_before_anything_is_made() {
    for (keys, code, told) in [
        (json!({"device": ""}), 7, "specify either \"device\", \"hwaddr\", \"kernelpath\" or \"pciBusID\""),
        (json!({"device": "", "hwaddr": "bogus"}), 7, "failed to parse MAC address \"bogus\""),
        (json!({"device": "", "kernelpath": "/etc"}), 7, "kernel device path \"/etc\" must be absolute"),
        (json!({"device": "gone"}), 999, "failed to find host device: failed to find link \"gone\""),
        (
            json!({"device": "", "hwaddr": "02:00:00:00:00:77"}),
            999,
            "failed to find host device: failed to find physical interface",
        ),
        (json!({"device": "", "pciBusID": "0000:99:00.0"}), 999, "error with host device: lstat"),
    ] {
        let world = world();
        let before = world.fake.log();
        let outcome = world.add(&l3(&keys));
        let error = outcome.assert_error(code);
        assert!(error.msg.starts_with(told), "{error}");
        assert!(commands(&outcome).is_empty());
        assert_eq!(world.fake.log(), before);
        // With Go's, DEL fails for the same reason.
        world.del(&l3(&keys)).assert_success();
    }
}

#[test]
fn a_name_that_is_taken_is_refused_and_its_owner_lives_on() {
    let world = world();
    let inside = world.inside();
    inside.create(&NewLink::new("eth0", LinkKind::Veth(Peer::new("veth0")))).unwrap();
    let outcome = world.add(&l3(&json!({})));
    let told = "failed to move link failed to rename device \"ens5\" to \"eth0\": file exists";
    assert_eq!(outcome.assert_error(999).msg, told);
    assert!(world.host().link("ens5").unwrap().is_up());
    // A runtime undoes what failed: with Go's, the interface is touched. One has no alias, one that of its plugin.
    let key = Owner::new("n0", "c1", "eth0").key();
    for alias in ["", &key, "another", "what it is for"] {
        inside.change(&inside.link("eth0").unwrap(), &LinkChange::new().alias(alias)).unwrap();
        world.del(&l3(&json!({}))).assert_success();
        assert!(inside.link("eth0").is_ok(), "{alias}");
    }
}

#[test]
fn a_link_of_the_same_name_is_no_obstacle_on_either_side() {
    let world = world();
    world.host().create(&NewLink::new("eth0", LinkKind::Ifb)).unwrap();
    world.inside().create(&NewLink::new("ens5", LinkKind::Ifb)).unwrap();
    let added = world.add(&l3(&json!({})));
    added.assert_success();
    world.check(&l3(&json!({})), &added).assert_success();
    world.del(&l3(&json!({}))).assert_success();
    assert!(world.host().link("ens5").unwrap().is_kind("veth"));
    assert!(world.host().link("eth0").is_ok() && world.inside().link("ens5").is_ok());
}

#[test]
fn a_device_does_not_come_back_under_a_name_that_is_taken() {
    let world = world();
    world.add(&l3(&json!({}))).assert_success();
    let host = world.host();
    host.create(&NewLink::new("ens5", LinkKind::Ifb)).unwrap();
    let outcome = world.del(&l3(&json!({})));
    assert!(outcome.assert_error(999).msg.starts_with("failed to move \"ens5\" to host netns: file exists"));
    assert_eq!(commands(&outcome), [Command::Del], "the addresses are given back");
    assert!(world.inside().link("eth0").is_ok());
    host.delete(&host.link("ens5").unwrap()).unwrap();
    world.del(&l3(&json!({}))).assert_success();
    assert!(host.link("ens5").unwrap().is_kind("veth"));
}

#[test]
fn a_result_keeps_what_others_have_said() {
    let world = world()
        .with_addresses(json!({"ips": [{"address": "10.1.0.5/24"}], "dns": {"nameservers": ["10.1.0.1"]}}));
    let earlier = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "lo", "sandbox": NETNS}], "ips": [{"address": "127.0.0.1/8", "interface": 0}]});
    let call = Invocation::add("c1", NETNS, "eth0").config(l3(&json!({}))).prev_result(&earlier);
    let result = world.run(call).result();
    assert_eq!((result.ips[0].interface, result.ips[1].interface), (Some(0), Some(1)));
    assert_eq!(result.dns.nameservers, ["10.1.0.1"]);
}

#[test]
fn c60_whatever_request_the_kernel_refuses_everything_is_undone() {
    let others = ["find link \"ens5\"", "find link \"eth0\"", "list addresses"];
    World::assert_all_or_nothing(world, &l3(&json!({})), &others);
    // And the device is as it was.
    for step in ["netns", "set link \"eth0\"", "add address", "add route"] {
        let world = world();
        world.fake.refuse(step, 12);
        world.add(&l3(&json!({}))).assert_error(999);
        let ens5 = world.host().link("ens5").unwrap();
        assert!(ens5.is_up() && ens5.alias.is_none(), "{step}");
        assert_eq!(addresses(&world.host(), "ens5"), ["192.0.2.7/24"], "{step}");
    }
}

#[test]
fn c22_del_cleans_up_wherever_add_was_killed() {
    World::assert_del_cleans_up_after_a_crash(world, &l3(&json!({})));
}

#[test]
fn c22_del_without_the_netns_looks_for_what_the_kernel_brought_back() {
    for (name, keys) in [("eth0", json!({})), ("dev0", json!({"device": "", "hwaddr": MAC}))] {
        for path in [None, Some(""), Some("/run/netns/long-gone")] {
            let world = world();
            let host = world.host();
            // As it is when the namespace of a container ends.
            let change = LinkChange::new().alias("ens5").name(name);
            host.change(&host.link("ens5").unwrap(), &change).unwrap();
            for _ in 0..2 {
                let call = Invocation::del("c1", "eth0").config(l3(&keys));
                let outcome = world.run(if let Some(path) = path { call.netns(path) } else { call });
                outcome.assert_success();
                assert_eq!(commands(&outcome), [Command::Del]);
                assert!(seen(&host).contains(&("ens5".into(), None)), "{:?}", seen(&host));
            }
        }
    }
}

#[test]
fn check_sees_what_is_gone_or_changed() {
    let config = l3(&json!({}));
    let changed = |change: LinkChange<'_>, told: &str| {
        let world = world();
        let added = world.add(&config);
        let inside = world.inside();
        inside.change(&inside.link("eth0").unwrap(), &change).unwrap();
        let outcome = world.check(&config, &added);
        let error = outcome.assert_error(999);
        assert!(error.msg.starts_with(told), "{told}: {error}");
    };
    changed(LinkChange::new().name("net7"), "Container Interface name in prevResult: eth0 not found");
    changed(LinkChange::new().down(), "container interface eth0 is down");
    changed(
        LinkChange::new().mac([2, 0, 0, 0, 0, 9]),
        "Interface eth0 Mac 02:00:00:00:00:05 doesn't match container Mac",
    );
    changed(LinkChange::new().alias("ens6"), "container interface eth0 is another device: \"ens6\"");
    changed(LinkChange::new().alias(""), "container interface eth0 is another device: none of the host");
    let world = world();
    let added = world.add(&config);
    let address: IpNetwork = "10.1.0.5/24".parse().unwrap();
    world.inside().delete_address(&world.inside().link("eth0").unwrap(), address).unwrap();
    let outcome = world.check(&config, &added);
    assert!(outcome.assert_error(999).msg.starts_with("Failed to match addr 10.1.0.5/24 on interface eth0"));
}

/// A `/sys` with a device that has a driver, and the names of its links.
fn device(sys: &Path, place: &str, driver: &str, links: &[&str]) {
    let place = sys.join(place);
    fs::create_dir_all(&place).unwrap();
    fs::create_dir_all(sys.join("drivers").join(driver)).unwrap();
    symlink(sys.join("drivers").join(driver), place.join("driver")).unwrap();
    for link in links {
        fs::create_dir_all(place.join(link)).unwrap();
    }
}

fn on_sys(world: &World<HostDevice>, sys: &Path, call: Invocation) -> Outcome {
    call.delegate("host-local", |call| match call.command() {
        Command::Add => call.reply(json!({"ips": [{"address": "10.1.0.5/24"}]})),
        _ => cni_skel::testing::DelegateReply::nothing(),
    })
    .run(&HostDevice::on((&world.fake).into(), sys))
}

#[test]
fn devices_are_found_by_bus_and_path() {
    let dir = tempfile::tempdir().unwrap();
    let sys = dir.path();
    device(sys, "bus/pci/devices/0000:00:05.0", "e1000", &["net/ens5"]);
    device(sys, "bus/pci/devices/0000:00:06.0", "virtio-pci", &["virtio3/net/ens5"]);
    device(sys, "bus/pci/devices/0000:00:07.0", "e1000", &["net"]);
    device(sys, "bus/pci/devices/0000:00:08.0", "e1000", &[]);
    device(sys, "bus/auxiliary/devices/mlx5_core.sf.4", "mlx5", &["net/ens5"]);
    fs::create_dir_all(sys.join("devices/pci0/0000:00:05.0/net/ens5")).unwrap();
    let add = |keys: Value, id: Option<&str>| {
        let world = world();
        let call = Invocation::add("c1", NETNS, "eth0").config(l3(&keys));
        let call = if let Some(id) = id { call.capability("deviceID", id) } else { call };
        on_sys(&world, sys, call)
    };
    let by = |key: &str, value: &str| json!({"device": "", key: value});
    for (keys, id) in [
        (by("pciBusID", "0000:00:05.0"), None),
        (by("pciBusID", "0000:00:06.0"), None),
        (by("pciBusID", "0000:99:00.0"), Some("0000:00:05.0")),
        (by("pciBusID", ""), Some("mlx5_core.sf.4")),
        (by("kernelpath", "/sys/devices/pci0/0000:00:05.0"), None),
    ] {
        add(keys, id).assert_success();
    }
    for (keys, id, told) in [
        (by("pciBusID", "0000:00:07.0"), None, "failed to find device name for pci address 0000:00:07.0"),
        (by("pciBusID", "0000:00:08.0"), None, "no net directory under pci device 0000:00:08.0"),
        (by("pciBusID", ""), Some("nope"), "runtime config DeviceID nope not found or unsupported"),
        (by("kernelpath", "/sys/devices/nope"), None, "failed to find network devices at"),
    ] {
        let outcome = add(keys, id);
        assert!(outcome.assert_error(999).msg.contains(told), "{told}");
        assert!(commands(&outcome).is_empty());
    }
}

#[test]
fn a_device_that_a_program_drives_has_no_link() {
    let dir = tempfile::tempdir().unwrap();
    device(dir.path(), "bus/pci/devices/0000:00:05.0", "vfio-pci", &[]);
    for keys in [json!({"device": "", "pciBusID": "0000:00:05.0"}), json!({"DPDKMode": true})] {
        let world = world();
        let before = world.fake.log();
        for config in [l2(&keys), l3(&keys)] {
            let added = on_sys(&world, dir.path(), Invocation::add("c1", NETNS, "eth0").config(&config));
            let result = added.result();
            assert!(result.interfaces.is_empty());
            assert!(result.ips.iter().all(|ip| ip.interface.is_none()));
            let check = Invocation::check("c1", NETNS, "eth0").config(&config).prev_result(added.json());
            on_sys(&world, dir.path(), check).assert_success();
            let del = Invocation::del("c1", "eth0").netns(NETNS).config(&config);
            on_sys(&world, dir.path(), del).assert_success();
        }
        assert_eq!(world.fake.log(), before);
    }
}

#[test]
fn status_and_gc_ask_the_ipam_plugin() {
    let world = world();
    for (call, command) in [(Invocation::status(), Command::Status), (Invocation::gc([]), Command::Gc)] {
        let outcome = world.run(call.config(l3(&json!({"device": "gone"}))));
        outcome.assert_success();
        assert_eq!(commands(&outcome), [command]);
    }
    world.run(Invocation::status().config(l2(&json!({})))).assert_success();
    world.run(Invocation::gc([]).config(l2(&json!({})))).assert_success();
}
