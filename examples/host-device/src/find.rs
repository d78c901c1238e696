//! Which link of the host a configuration means.

use std::fs;
use std::path::{Path, PathBuf};

use cni_skel::{Error, Result, ResultExt};
use plugin_support::netlink::{Handle, Link};

use crate::config::Wanted;

/// Drivers that leave a device to a program.
const DPDK_DRIVERS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

/// Whether a program of the container drives the device by itself.
pub(crate) fn is_dpdk(sys: &Path, wanted: &Wanted) -> Result<bool> {
    let driver = match wanted {
        Wanted::Pci(address) => pci(sys, address).join("driver"),
        Wanted::DeviceId(id) if pci(sys, id).exists() => pci(sys, id).join("driver"),
        Wanted::DeviceId(id) if !auxiliary(sys, id).exists() => {
            return Err(Error::message(format!("runtime config DeviceID {id} not found or unsupported")));
        }
        _ => return Ok(false),
    };
    let driver =
        fs::canonicalize(&driver).with_context(|| format!("error with host device: lstat {driver:?}"))?;
    let name = driver.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Ok(DPDK_DRIVERS.contains(&name))
}

/// The link that is meant.
pub(crate) fn link(sys: &Path, netlink: &Handle, wanted: &Wanted) -> Result<Link> {
    let found = match wanted {
        Wanted::Name(name) => return Ok(netlink.link(name)?),
        Wanted::Mac(mac) => {
            let links = netlink.links()?;
            links.into_iter().find(|link| link.mac.is_some_and(|found| found.octets() == mac.bytes()))
        }
        Wanted::KernelPath(path) => {
            let place = sys.join(path.trim_start_matches("/sys/"));
            let directory = place.join("net");
            let names = names(&directory)
                .map_err(|_| Error::message(format!("failed to find network devices at {directory:?}")))?;
            first(netlink, names)?
        }
        Wanted::Pci(address) => return in_bus(netlink, &pci(sys, address), "pci", address),
        Wanted::DeviceId(id) if pci(sys, id).exists() => return in_bus(netlink, &pci(sys, id), "pci", id),
        Wanted::DeviceId(id) => return in_bus(netlink, &auxiliary(sys, id), "auxiliary", id),
    };
    found.ok_or_else(|| Error::message("failed to find physical interface"))
}

/// The first link of a device of a bus.
fn in_bus(netlink: &Handle, device: &Path, bus: &str, address: &str) -> Result<Link> {
    let mut directory = device.join("net");
    if !directory.exists() {
        // Of a virtual machine: the link is one further down.
        let inside = names(device).unwrap_or_default().into_iter().filter(|name| name.starts_with("virtio"));
        let found = inside.map(|name| device.join(name).join("net")).find(|place| place.exists());
        let missing = || Error::message(format!("no net directory under {bus} device {address}"));
        directory = found.ok_or_else(missing)?;
    }
    let names = names(&directory).with_context(|| format!("failed to read net directory {directory:?}"))?;
    first(netlink, names)?
        .ok_or_else(|| Error::message(format!("failed to find device name for {bus} address {address}")))
}

/// The first name that a link has.
fn first(netlink: &Handle, names: Vec<String>) -> Result<Option<Link>> {
    for name in names {
        match netlink.link(&name) {
            Err(error) if error.is_not_found() => {}
            link => return Ok(Some(link?)),
        }
    }
    Ok(None)
}

/// What is in a directory, in the order of names.
fn names(directory: &Path) -> std::io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<_> = entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn pci(sys: &Path, address: &str) -> PathBuf {
    sys.join("bus/pci/devices").join(address)
}

fn auxiliary(sys: &Path, id: &str) -> PathBuf {
    sys.join("bus/auxiliary/devices").join(id)
}
