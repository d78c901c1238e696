//! Connection tracking: forgetting UDP flows, which otherwise keep going where an address translation of the past sent
//! them for as long as packets come.

use netlink_packet_core::{NLA_F_NESTED, NlaBuffer, NlasIterator};
use netlink_sys::protocols::NETLINK_NETFILTER;
use rustix::io::Errno as RawErrno;

use crate::error::{Error, Result};
use crate::firewall::Family;
use crate::netlink::failed;
use crate::netlink::socket::{Failure, Socket};
use crate::netns::NetNs;

// `linux/netfilter/nfnetlink_conntrack.h`: messages of subsystem 1, and the attributes used here.
const GET: u16 = 1 << 8 | 1;
const DELETE: u16 = 1 << 8 | 2;
const CTA_TUPLE_ORIG: u16 = 1;
const CTA_ID: u16 = 12;
const CTA_ZONE: u16 = 18;
const CTA_TUPLE_PROTO: u16 = 2;
const CTA_PROTO_NUM: u16 = 1;
const CTA_PROTO_DST_PORT: u16 = 3;

/// `IPPROTO_UDP`.
const UDP: u8 = 17;

/// Bytes of `struct nfgenmsg`.
const HEADER: usize = 4;

/// The connections that one network namespace tracks, from [`NetNs::conntrack`].
#[derive(Debug)]
pub struct Conntrack {
    kernel: Kernel,
}

/// What answers, as for [`Handle`](crate::netlink::Handle).
#[derive(Debug)]
enum Kernel {
    Linux(Socket),
    #[cfg(feature = "testing")]
    Fake(crate::testing::FakeNetns),
}

/// What names a tracked flow: the attributes of its listing that a deletion repeats, with their flags.
#[derive(Debug, PartialEq, Eq)]
struct Flow {
    destination_port: u16,
    name: Vec<u8>,
}

impl NetNs {
    /// The connections that this namespace tracks.
    ///
    /// # Errors
    ///
    /// If the kernel has no netfilter.
    pub fn conntrack(&self) -> Result<Conntrack> {
        #[cfg(feature = "testing")]
        if let Some(fake) = &self.fake {
            return Ok(Conntrack { kernel: Kernel::Fake(fake.clone()) });
        }
        self.run(|| Socket::open(NETLINK_NETFILTER))?
            .map(|socket| Conntrack { kernel: Kernel::Linux(socket) })
            .map_err(|errno| Error::os("failed to open a netfilter netlink socket", errno))
    }
}

impl Conntrack {
    /// Forgets all UDP flows whose first packet went to one of these ports, and tells how many. That is the port before
    /// any translation: a host port, not a container's.
    ///
    /// # Errors
    ///
    /// If the kernel does not list its flows or refuses to forget one; others may be forgotten by then.
    pub fn forget_udp(&self, family: Family, ports: &[u16]) -> Result<usize> {
        if ports.is_empty() {
            return Ok(0);
        }
        match &self.kernel {
            Kernel::Linux(socket) => forget_udp(socket, family, ports),
            #[cfg(feature = "testing")]
            Kernel::Fake(netns) => netns.forget_udp(family, ports),
        }
    }
}

fn forget_udp(socket: &Socket, family: Family, ports: &[u16]) -> Result<usize> {
    let replies = socket
        .dump(GET, &header(family))
        .map_err(|failure| failed(failure, "failed to list tracked connections".into()))?;
    let mut forgotten = 0;
    for flow in replies.iter().filter_map(|reply| udp_flow(&reply.body)) {
        if !ports.contains(&flow.destination_port) {
            continue;
        }
        let request = [&header(family)[..], &flow.name].concat();
        match socket.request(DELETE, 0, &request) {
            Ok(_) => forgotten += 1,
            // It has ended meanwhile.
            Err(Failure::Refused { errno: RawErrno::NOENT, .. }) => {}
            Err(failure) => {
                let port = flow.destination_port;
                return Err(failed(
                    failure,
                    format!("failed to forget a tracked connection to udp port {port}"),
                ));
            }
        }
    }
    Ok(forgotten)
}

/// `struct nfgenmsg`: the family, version 0, no resource.
fn header(family: Family) -> [u8; HEADER] {
    match family {
        Family::V4 => [2, 0, 0, 0],
        Family::V6 => [10, 0, 0, 0],
    }
}

/// The flow that a reply lists, if it is one of UDP.
fn udp_flow(body: &[u8]) -> Option<Flow> {
    let attributes = body.get(HEADER..)?;
    let tuple = find(attributes, CTA_TUPLE_ORIG)?;
    let protocol = find(tuple.value(), CTA_TUPLE_PROTO)?;
    if find(protocol.value(), CTA_PROTO_NUM)?.value() != [UDP] {
        return None;
    }
    let port = find(protocol.value(), CTA_PROTO_DST_PORT)?.value().try_into().ok()?;
    let mut name = Vec::new();
    push(&mut name, CTA_TUPLE_ORIG | NLA_F_NESTED, tuple.value());
    // The number tells the flow from a later one with the same addresses.
    for kind in [CTA_ID, CTA_ZONE] {
        if let Some(attribute) = find(attributes, kind) {
            push(&mut name, kind, attribute.value());
        }
    }
    Some(Flow { destination_port: u16::from_be_bytes(port), name })
}

fn find(attributes: &[u8], kind: u16) -> Option<NlaBuffer<&[u8]>> {
    NlasIterator::new(attributes)
        .map_while(std::result::Result::ok)
        .find(|attribute| attribute.kind() == kind)
}

/// Adds an attribute. The values are those of a listing, which fitted.
fn push(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel lists for a flow.
    fn listed(protocol: u8, port: u16, zone: Option<u16>) -> Vec<u8> {
        let mut proto = Vec::new();
        push(&mut proto, CTA_PROTO_NUM, &[protocol]);
        push(&mut proto, 2, &40000_u16.to_be_bytes());
        push(&mut proto, CTA_PROTO_DST_PORT, &port.to_be_bytes());
        let mut ip = Vec::new();
        push(&mut ip, 1, &[10, 0, 0, 1]);
        push(&mut ip, 2, &[10, 0, 0, 2]);
        let mut tuple = Vec::new();
        push(&mut tuple, 1 | NLA_F_NESTED, &ip);
        push(&mut tuple, CTA_TUPLE_PROTO | NLA_F_NESTED, &proto);
        let mut body = header(Family::V4).to_vec();
        push(&mut body, CTA_TUPLE_ORIG | NLA_F_NESTED, &tuple);
        push(&mut body, 2 | NLA_F_NESTED, &tuple);
        push(&mut body, 3, &[0, 0, 1, 0x8e]);
        push(&mut body, CTA_ID, &[1, 2, 3, 4]);
        if let Some(zone) = zone {
            push(&mut body, CTA_ZONE, &zone.to_be_bytes());
        }
        body
    }

    #[test]
    fn a_flow_is_named_by_its_original_tuple_id_and_zone() {
        let body = listed(UDP, 8125, None);
        let flow = udp_flow(&body).unwrap();
        assert_eq!(flow.destination_port, 8125);
        let tuple = find(&body[HEADER..], CTA_TUPLE_ORIG).unwrap();
        let mut name = Vec::new();
        push(&mut name, CTA_TUPLE_ORIG | NLA_F_NESTED, tuple.value());
        push(&mut name, CTA_ID, &[1, 2, 3, 4]);
        assert_eq!(flow.name, name);
        push(&mut name, CTA_ZONE, &[0, 9]);
        assert_eq!(udp_flow(&listed(UDP, 8125, Some(9))).unwrap().name, name);
    }

    #[test]
    fn other_protocols_and_nonsense_are_passed_over() {
        assert_eq!(udp_flow(&listed(6, 8125, None)), None);
        let body = listed(UDP, 8125, None);
        for length in 0..HEADER + 40 {
            assert_eq!(udp_flow(&body[..length]), None, "{length} bytes");
        }
    }
}
