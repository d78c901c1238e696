//! Conversion between layouts: it is done in one step or in many, and loses what is documented and nothing else.

use cni_types::result::{AddResult, VersionedResult, v020, v040};
use cni_types::{Cidr, CniVersion, Route};

/// Converts whatever result the bytes are to every version and back.
pub fn check(bytes: &[u8]) {
    let Ok(result) = VersionedResult::decode(bytes) else { return };
    let newest = result.clone().convert(CniVersion::NEWEST).expect("any result can be converted up");
    for to in CniVersion::ALL {
        let converted = result.clone().convert(to);
        let by_way_of_newest = newest.clone().convert(to);
        if let Ok(converted) = &converted {
            assert_eq!(converted.version(), to);
            assert_eq!(
                converted.clone().convert(to).as_ref(),
                Ok(converted),
                "converting twice is converting once"
            );
            let printed =
                VersionedResult::decode(converted.to_json().as_bytes()).expect("a conversion can be read");
            assert_eq!(printed.to_json(), converted.to_json());
        } else {
            assert!(to < CniVersion::V0_3_0, "only the first layout cannot express every result");
        }
        if result.version() <= to {
            check_up_and_down(&result, converted.ok());
        }
        check_down_and_up(newest.clone().into_add_result(), by_way_of_newest.ok());
    }
}

/// Up to another version and back again, a result is what it was, if it was what its version means.
fn check_up_and_down(result: &VersionedResult, up: Option<VersionedResult>) {
    let back = up.and_then(|up| up.convert(result.version()).ok());
    let (well_formed, has_address) = match (result.as_v020(), result.as_v040()) {
        (Some(old), _) => (is_well_formed_v020(old), old.ip4.is_some() || old.ip6.is_some()),
        (_, Some(old)) => (is_well_formed_v040(old), true),
        _ => (true, true),
    };
    match back {
        Some(back) if well_formed => assert_eq!(&back, result),
        Some(_) => {}
        None => assert!(!has_address, "a result was lost on its way up and down"),
    }
}

fn is_well_formed_v020(result: &v020::Result) -> bool {
    let fits = |ip: &Option<v020::Ip>, v4: bool| {
        ip.as_ref().is_none_or(|ip| {
            ip.ip.is_ipv4() == v4
                && ip.routes.iter().all(|route| route.dst.is_ipv4() == v4 && is_plain(route))
        })
    };
    fits(&result.ip4, true) && fits(&result.ip6, false)
}

/// The first layout has no more of a route than this.
fn is_plain(route: &Route) -> bool {
    route.mtu.or(route.advmss).or(route.priority).or(route.table).or(route.scope).is_none()
}

fn is_well_formed_v040(result: &v040::Result) -> bool {
    let version = |address: &Cidr| if address.is_ipv4() { "4" } else { "6" };
    result.ips.iter().all(|ip| ip.version == version(&ip.address))
}

/// Down to another version and up again, a result has lost what the version cannot express and nothing else.
fn check_down_and_up(result: AddResult, down: Option<VersionedResult>) {
    let Some(down) = down else {
        assert!(result.ips.is_empty(), "a result with an address was refused");
        return;
    };
    let expected = match down.version() {
        CniVersion::V0_1_0 | CniVersion::V0_2_0 => as_of_v020(as_of_v040(result)),
        CniVersion::V0_3_0 | CniVersion::V0_3_1 | CniVersion::V0_4_0 => as_of_v040(result),
        CniVersion::V1_0_0 | CniVersion::V1_1_0 => result,
    };
    assert_eq!(text_of(down.into_add_result()), text_of(expected));
}

/// As printed: what is set aside for another layout does not count.
fn text_of(result: AddResult) -> String {
    let printed = VersionedResult::new(result, CniVersion::NEWEST);
    printed.expect("the newest version expresses every result").to_json()
}

/// What a version of the second layout can express of a result.
fn as_of_v040(mut result: AddResult) -> AddResult {
    for interface in &mut result.interfaces {
        (interface.mtu, interface.socket_path, interface.pci_id) = (None, None, None);
    }
    result
}

/// What a version of the first layout can express of a result, besides.
fn as_of_v020(mut result: AddResult) -> AddResult {
    let (ips, routes) = (std::mem::take(&mut result.ips), std::mem::take(&mut result.routes));
    result.interfaces.clear();
    for v4 in [true, false] {
        let Some(mut ip) = ips.iter().find(|ip| ip.address.is_ipv4() == v4).cloned() else { continue };
        ip.interface = None;
        result.ips.push(ip);
        result.routes.extend(routes.iter().filter(|route| route.dst.is_ipv4() == v4).map(|route| {
            let mut plain = Route::new(route.dst);
            plain.gw = route.gw;
            plain.extra = route.extra.clone();
            plain
        }));
    }
    result
}
