//! What is random, or differs with time, in a text: veth names and hardware addresses.

/// The start of the hardware addresses that cases choose; the others are made up by plugins or the kernel.
const CHOSEN: &str = "02:00:00:";

const MAC_LENGTH: usize = "00:00:00:00:00:00".len();

/// Whether a text is a hardware address that nobody has chosen.
pub(super) fn is_random_mac(text: &str) -> bool {
    is_mac(text) && !text.starts_with(CHOSEN)
}

fn is_mac(text: &str) -> bool {
    text.len() == MAC_LENGTH
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at % 3 == 2 { byte == b':' } else { byte.is_ascii_hexdigit() })
}

/// The text with its random parts named. `macs` are those that have a name.
pub(super) fn settled(text: &str, macs: &[(String, String)]) -> String {
    let mut settled = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mac = rest.get(..MAC_LENGTH).filter(|mac| is_random_mac(mac));
        let is_start = !settled.ends_with(|c: char| c.is_ascii_hexdigit() || c == ':');
        if let Some(mac) = mac.filter(|_| is_start) {
            let name =
                macs.iter().find(|(known, _)| known.eq_ignore_ascii_case(mac)).map(|(_, name)| name.as_str());
            settled.push_str(name.unwrap_or("<mac>"));
            rest = &rest[MAC_LENGTH..];
        } else if is_veth(rest) {
            settled.push_str("<veth>");
            rest = &rest[VETH_LENGTH..];
        } else {
            settled.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    settled
}

const VETH_LENGTH: usize = "veth01234567".len();

/// Whether a name as plugins make them up comes next.
fn is_veth(text: &str) -> bool {
    text.get(..VETH_LENGTH)
        .and_then(|name| name.strip_prefix("veth"))
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[test]
fn random_parts_get_names() {
    let macs = [("be:ef:00:00:00:01".to_owned(), "<mac of eth0>".to_owned())];
    for (text, expected) in [
        ("dev veth0a1b2c3d scope", "dev <veth> scope"),
        ("ether saddr be:ef:00:00:00:01 return", "ether saddr <mac of eth0> return"),
        ("BE:EF:00:00:00:01", "<mac of eth0>"),
        ("aa:bb:cc:dd:ee:ff", "<mac>"),
        ("02:00:00:00:00:01", "02:00:00:00:00:01"),
        ("vethernet é", "vethernet é"),
    ] {
        assert_eq!(settled(text, &macs), expected);
    }
}
