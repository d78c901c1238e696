//! Which name was meant by one that nobody knows.

/// The nearest of the names, if it is so near that it may have been meant.
pub(super) fn nearest<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    within(found, names, found.chars().count().max(3) / 3)
}

/// The nearest of the names, if hardly anything else can have been meant: for names that somebody else may well know.
pub(super) fn misspelt<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    match found.chars().count() {
        0..4 => None,
        4..8 => within(found, names, 1),
        _ => within(found, names, 2),
    }
}

fn within<'n>(found: &str, names: impl IntoIterator<Item = &'n str>, most: usize) -> Option<&'n str> {
    let near = names.into_iter().map(|name| (distance(found, name), name));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// How many letters differ, are missing, are too many or are swapped with their neighbour; letter case does not count.
fn distance(one: &str, other: &str) -> usize {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    let (one, other) = (lower(one), lower(other));
    // The work grows with both: what is much longer than any key is none.
    if one.len().abs_diff(other.len()) > 8 || one.len() > 100 {
        return usize::MAX;
    }
    let mut last: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(last[j - 1] + 1);
            }
            next.push(least);
        }
        last = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_near() {
        for (one, other, expected) in [
            ("mtu", "mtu", 0),
            ("MTU", "mtu", 0),
            ("mtuu", "mtu", 1),
            ("tmu", "mtu", 1),
            ("", "ab", 2),
            ("subnte", "subnet", 1),
            ("isgatway", "isGateway", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
        let keys = ["bridge", "isGateway", "ipMasq", "mtu", "vlan"];
        assert_eq!(nearest("brigde", keys), Some("bridge"));
        assert_eq!(nearest("isDefaultGatewayish", keys), None);
        assert_eq!(nearest("vlna", keys), Some("vlan"));
        assert_eq!(nearest("x", keys), None);
        assert_eq!(nearest(&"m".repeat(100_000), keys), None);
        // Somebody else's keys may be like these.
        assert_eq!(misspelt("ipmaq", keys), Some("ipMasq"));
        assert_eq!(misspelt("mtuu", ["mtu"]), Some("mtu"));
        assert_eq!(misspelt("mut", ["mtu"]), None);
        assert_eq!(misspelt("mode", keys), None);
    }
}
