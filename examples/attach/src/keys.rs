//! What keys that many plugins have may say.

use cni_skel::{Error, ErrorCode, MacAddr, Result, ResultExt};

/// Reads a hardware address in the three notations of Go: `0a:58:0a:01:00:05`, `0a-58-0a-01-00-05`, `0a58.0a01.0005`.
///
/// # Errors
///
/// When it is none, or none that an interface can have as its own.
pub fn mac_address(text: &str) -> Result<MacAddr> {
    let mac: MacAddr = undotted(text).as_deref().unwrap_or(text).parse().map_err(|_| {
        Error::message(format!(
            "invalid MAC address {text:?}, expected six bytes such as \"0a:58:0a:01:00:05\""
        ))
    })?;
    if mac.is_multicast() || mac == MacAddr::new([0; 6]) {
        let why = if mac.is_multicast() { "that of a group" } else { "zero" };
        return Err(Error::message(format!(
            "invalid MAC address {text:?}: an interface's own cannot be {why}"
        )));
    }
    Ok(mac)
}

/// The first of several places that asks for a hardware address, each with its name and the code of its errors; empty is
/// absent.
///
/// # Errors
///
/// When that is no address that an interface can have.
pub fn first_mac(places: &[(&str, Option<&str>, ErrorCode)]) -> Result<Option<MacAddr>> {
    let given = |(_, text, _): &&(_, Option<&str>, _)| text.is_some_and(|text| !text.is_empty());
    let Some((place, Some(text), code)) = places.iter().find(given) else { return Ok(None) };
    mac_address(text).map(Some).context(*place).code(*code)
}

/// The hardware address that is asked for by the runtime, or else by `CNI_ARGS`, or else by the key `mac`.
///
/// # Errors
///
/// When the one that counts is no address that an interface can have. Code 7, or 4 for that of `CNI_ARGS`.
pub fn own_mac(runtime: Option<&str>, args: Option<&str>, key: Option<&str>) -> Result<Option<MacAddr>> {
    let given = [runtime, args, key].into_iter().flatten().find(|text| !text.is_empty());
    first_mac(&[
        ("runtimeConfig.mac", runtime, ErrorCode::INVALID_NETWORK_CONFIG),
        ("CNI_ARGS: MAC", args, ErrorCode::INVALID_ENVIRONMENT),
        ("mac", key, ErrorCode::INVALID_NETWORK_CONFIG),
    ])
    .with_context(|| format!("invalid args {} for MAC addr", given.unwrap_or_default()))
}

/// What `mtu` says; `None` for the kernel's choice.
///
/// # Errors
///
/// When no link can have it. Code 7.
pub fn mtu(bytes: Option<i64>) -> Result<Option<u32>> {
    match bytes.unwrap_or_default() {
        0 => Ok(None),
        // 68 is the smallest that IPv4 can have.
        bytes @ 68..=65535 => Ok(u32::try_from(bytes).ok()),
        other => Err(Error::new(
            ErrorCode::INVALID_NETWORK_CONFIG,
            format!("mtu: invalid value {other}, expected 0 or a number from 68 to 65535"),
        )),
    }
}

/// The notation with dots in that with colons.
fn undotted(text: &str) -> Option<String> {
    let groups: Vec<_> = text.split('.').collect();
    let good = |group: &&str| group.len() == 4 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    if groups.len() != 3 || !groups.iter().all(good) {
        return None;
    }
    let halves = groups.iter().flat_map(|group| [&group[..2], &group[2..]]);
    Some(halves.collect::<Vec<_>>().join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_notations_are_read() {
        for text in ["0a:58:0A:01:00:05", "0a-58-0a-01-00-05", "0a58.0A01.0005"] {
            assert_eq!(mac_address(text).unwrap().to_string(), "0a:58:0a:01:00:05", "{text}");
        }
    }

    #[test]
    fn what_no_interface_can_have_is_refused() {
        for (text, told) in [
            ("0a:58:0a:01:00", "expected six bytes"),
            ("0a58.0a01", "expected six bytes"),
            ("0a58.0a0.10005", "expected six bytes"),
            ("0a:58:0a:01:00:05:06:07", "expected six bytes"),
            ("zz:58:0a:01:00:05", "expected six bytes"),
            ("01:00:5e:00:00:01", "cannot be that of a group"),
            ("0000.0000.0000", "cannot be zero"),
        ] {
            let error = mac_address(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("invalid MAC address {text:?}")) && error.contains(told),
                "{error}"
            );
        }
    }
}
