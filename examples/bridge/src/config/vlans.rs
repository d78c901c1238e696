//! Which VLANs a container takes part in.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use cni_skel::{Error, Result};

/// The IDs that a frame can carry and mean.
const IDS: RangeInclusive<i64> = 1..=4094;
/// The VLAN of untagged frames on a trunk that names none.
const NATIVE_OF_TRUNK: u16 = 1;

/// One entry of `vlanTrunk`: an ID, a range of IDs, or both.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct TrunkEntry {
    #[serde(rename = "minID")]
    min_id: Option<i64>,
    #[serde(rename = "maxID")]
    max_id: Option<i64>,
    id: Option<i64>,
}

/// The VLANs of a container's port. The bridge then keeps VLANs apart, even if the list is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vlans {
    /// The VLAN that the configuration names by `vlan`: that of the container's gateway.
    pub access: Option<u16>,
    /// The VLAN of frames without a tag, both ways.
    pub native: Option<u16>,
    /// The VLANs whose frames have tags: ranges in order, none touching another.
    pub tagged: Vec<RangeInclusive<u16>>,
    /// Whether the port stays in the bridge's default VLAN.
    pub keep_default: bool,
}

impl Vlans {
    /// The VLANs that the keys mean; `None` if the bridge need not know VLANs.
    ///
    /// # Errors
    ///
    /// When an ID is out of range, or a range is none.
    pub(super) fn new(vlan: i64, trunk: Option<&[TrunkEntry]>, keep_default: bool) -> Result<Option<Self>> {
        let access = match vlan {
            0 => None,
            id => Some(valid(id).ok_or_else(|| {
                Error::message(format!("invalid VLAN ID {id} (must be between 0 and 4094)"))
            })?),
        };
        if access.is_none() && trunk.is_none() {
            return Ok(None);
        }
        let mut tagged = BTreeSet::new();
        for (index, entry) in trunk.unwrap_or_default().iter().enumerate() {
            tagged.extend(entry.ids().map_err(|why| Error::message(format!("{why} (vlanTrunk[{index}])")))?);
        }
        let native = access.or((!tagged.is_empty()).then_some(NATIVE_OF_TRUNK));
        // What has no tag cannot have one.
        tagged.retain(|id| Some(*id) != native);
        Ok(Some(Self { access, native, tagged: ranges(&tagged), keep_default }))
    }

    /// Whether the port is in any VLAN but the bridge's default.
    pub fn has_any(&self) -> bool {
        self.native.is_some() || !self.tagged.is_empty()
    }

    /// Whether the port is in this VLAN.
    pub fn contains(&self, id: u16) -> bool {
        self.native == Some(id) || self.tagged.iter().any(|ids| ids.contains(&id))
    }
}

impl TrunkEntry {
    fn ids(&self) -> Result<Vec<u16>, &'static str> {
        let mut ids = Vec::new();
        match (self.min_id, self.max_id) {
            (None, None) => {}
            (None, Some(_)) => {
                return Err("minID and maxID should be configured simultaneously, minID is missing");
            }
            (Some(_), None) => {
                return Err("minID and maxID should be configured simultaneously, maxID is missing");
            }
            (Some(min), Some(max)) => {
                let min = valid(min).ok_or("incorrect trunk minID parameter")?;
                let max = valid(max).ok_or("incorrect trunk maxID parameter")?;
                if min > max {
                    return Err("minID is greater than maxID in trunk parameter");
                }
                ids.extend(min..=max);
            }
        }
        if let Some(id) = self.id {
            ids.push(valid(id).ok_or("incorrect trunk id parameter")?);
        }
        Ok(ids)
    }
}

fn valid(id: i64) -> Option<u16> {
    IDS.contains(&id).then(|| u16::try_from(id).ok()).flatten()
}

/// Neighbours as ranges: the kernel takes a range in one request.
fn ranges(ids: &BTreeSet<u16>) -> Vec<RangeInclusive<u16>> {
    let mut ranges: Vec<RangeInclusive<u16>> = Vec::new();
    for id in ids.iter().copied() {
        match ranges.last_mut() {
            Some(last) if *last.end() + 1 == id => *last = *last.start()..=id,
            _ => ranges.push(id..=id),
        }
    }
    ranges
}
