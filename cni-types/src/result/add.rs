//! The newest layout, which is also the type that authors build.

use std::net::IpAddr;

use crate::wire::{
    Count, DnsIfAny, ExtraKeys, ListOf, OptAddress, OptIndex, OptText, Required, Text, wire_object,
};
use crate::{Cidr, Dns, Route};

/// What ADD made: interfaces, addresses, routes, name resolution.
///
/// The layout of 1.0.0 and 1.1.0. It carries no version: whoever prints it says which one is wanted, and
/// [`VersionedResult`](super::VersionedResult) converts.
///
/// ```
/// use cni_types::result::{AddResult, Interface, IpConfig};
///
/// let mut result = AddResult::default();
/// let eth0 = result.add_interface(Interface::new("eth0").in_sandbox("/run/netns/blue"));
/// result.ips.push(IpConfig::new("10.1.0.5/16".parse()?).on(eth0));
/// // The host's end goes before it; the address follows its interface.
/// result.insert_interface(0, Interface::new("veth1"));
/// assert_eq!(result.ips[0].interface, Some(1));
/// # Ok::<(), cni_types::InvalidCidr>(())
/// ```
#[doc(alias = "types100.Result")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddResult {
    /// The `cniVersion` that was read, until the result that has it takes it out.
    pub(super) declared: Option<String>,
    /// The interfaces that the plugin made, those of earlier plugins included.
    pub interfaces: Vec<Interface>,
    /// The addresses.
    pub ips: Vec<IpConfig>,
    /// The routes.
    pub routes: Vec<Route>,
    /// Name resolution. Left out when empty.
    pub dns: Dns,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    AddResult {
        "cniVersion" => declared: OptText,
        "interfaces" => interfaces: ListOf<Interface>,
        "ips" => ips: ListOf<IpConfig>,
        "routes" => routes: ListOf<Route>,
        "dns" => dns: DnsIfAny,
    }
}

impl AddResult {
    /// Appends an interface and gives its index.
    pub fn add_interface(&mut self, interface: Interface) -> usize {
        self.interfaces.push(interface);
        self.interfaces.len() - 1
    }

    /// Inserts an interface before the one at `index`, or at the end; every address follows its interface.
    ///
    /// Gives the index that the interface got.
    pub fn insert_interface(&mut self, index: usize, interface: Interface) -> usize {
        let index = index.min(self.interfaces.len());
        self.interfaces.insert(index, interface);
        for owner in self.ips.iter_mut().filter_map(|ip| ip.interface.as_mut()) {
            if *owner >= index {
                *owner = owner.saturating_add(1);
            }
        }
        index
    }

    /// Removes an interface; its addresses lose their owner, the others follow theirs.
    ///
    /// `None` when there is no such index.
    pub fn remove_interface(&mut self, index: usize) -> Option<Interface> {
        if index >= self.interfaces.len() {
            return None;
        }
        for ip in &mut self.ips {
            match &mut ip.interface {
                Some(owner) if *owner == index => ip.interface = None,
                Some(owner) if *owner > index => *owner -= 1,
                _ => {}
            }
        }
        Some(self.interfaces.remove(index))
    }

    /// Appends addresses that belong to one interface.
    pub fn add_ips_on(&mut self, interface: usize, ips: impl IntoIterator<Item = IpConfig>) {
        self.ips.extend(ips.into_iter().map(|ip| ip.on(interface)));
    }

    /// The addresses of one interface.
    ///
    /// An address without an index has an unknown owner and is not among them: some plugins leave the index out, and
    /// guessing 0 would put the address on the wrong interface. See [`AddResult::ips_without_interface`].
    pub fn ips_of(&self, interface: usize) -> impl Iterator<Item = &IpConfig> {
        self.ips.iter().filter(move |ip| ip.interface == Some(interface))
    }

    /// The addresses whose owner is not told.
    pub fn ips_without_interface(&self) -> impl Iterator<Item = &IpConfig> {
        self.ips.iter().filter(|ip| ip.interface.is_none())
    }

    /// The index of the interface with this name inside a container: it has a sandbox.
    pub fn container_interface(&self, name: &str) -> Option<usize> {
        self.interfaces.iter().position(|interface| interface.name == name && interface.sandbox.is_some())
    }

    /// The indexes of the interfaces on the host: those without a sandbox.
    pub fn host_interfaces(&self) -> impl Iterator<Item = usize> + '_ {
        self.interfaces
            .iter()
            .enumerate()
            .filter(|(_, interface)| interface.sandbox.is_none())
            .map(|(index, _)| index)
    }
}

/// A network interface that ADD made or used.
///
/// ```
/// use cni_types::result::Interface;
/// let host_end = Interface::new("veth1").with_mac("00:11:22:33:44:55".parse()?);
/// let inside = Interface::new("eth0").in_sandbox("/run/netns/blue");
/// assert!(host_end.sandbox.is_none() && inside.sandbox.is_some());
/// # Ok::<(), cni_types::InvalidMac>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// The name.
    pub name: String,
    /// The hardware address as text; peers put other things than Ethernet addresses here.
    pub mac: Option<String>,
    /// The largest packet in bytes. From 1.1.0. 0 reads as absent.
    pub mtu: Option<u64>,
    /// The isolation domain, such as the path of a network namespace; absent on the host.
    pub sandbox: Option<String>,
    /// The path of a socket that is the interface. From 1.1.0.
    pub socket_path: Option<String>,
    /// The PCI address of the device that is the interface. From 1.1.0.
    pub pci_id: Option<String>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Interface {
        "name" => name: Text,
        "mac" => mac: OptText,
        "mtu" => mtu: Count,
        "sandbox" => sandbox: OptText,
        "socketPath" => socket_path: OptText,
        "pciID" => pci_id: OptText,
    }
}

impl Interface {
    /// An interface of this name, on the host until told otherwise.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same interface with a hardware address.
    #[must_use]
    pub fn with_mac(mut self, mac: crate::MacAddr) -> Self {
        self.mac = Some(mac.to_string());
        self
    }

    /// The same interface inside an isolation domain.
    #[must_use]
    pub fn in_sandbox(mut self, sandbox: impl Into<String>) -> Self {
        self.sandbox = Some(sandbox.into());
        self
    }

    /// The same interface with a largest packet size in bytes.
    #[must_use]
    pub fn with_mtu(mut self, mtu: u32) -> Self {
        self.mtu = Some(mtu.into());
        self
    }
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IpConfig {
    /// The index of the owner in `interfaces`. Absent and 0 differ: absent means that the owner is not told.
    pub interface: Option<usize>,
    /// The address with its prefix length.
    pub address: Cidr,
    /// The default gateway of the address's subnet.
    pub gateway: Option<IpAddr>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    IpConfig {
        "interface" => interface: OptIndex,
        "address" => address: Required<Cidr>,
        "gateway" => gateway: OptAddress,
    }
}

impl IpConfig {
    /// An address without an owner and a gateway.
    pub fn new(address: Cidr) -> Self {
        Self { interface: None, address, gateway: None, extra: ExtraKeys::default() }
    }

    /// The same address with a default gateway.
    #[must_use]
    pub fn with_gateway(mut self, gateway: IpAddr) -> Self {
        self.gateway = Some(gateway);
        self
    }

    /// The same address on the interface of this index.
    #[must_use]
    pub fn on(mut self, interface: usize) -> Self {
        self.interface = Some(interface);
        self
    }
}
