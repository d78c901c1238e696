//! What is wrong with a result that can be read and printed all the same.

use super::AddResult;

/// A fault that makes a result useless to the next plugin or the runtime, though every peer will read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// An address points behind the last interface.
    #[error("ips[{ip}].interface is {index}, but there are {interfaces} interfaces")]
    InterfaceOutOfRange {
        /// The position in `ips`.
        ip: usize,
        /// The index found there.
        index: usize,
        /// How many interfaces there are.
        interfaces: usize,
    },
    /// An interface has no name.
    #[error("interfaces[{interface}].name is empty")]
    UnnamedInterface {
        /// The position in `interfaces`.
        interface: usize,
    },
}

impl AddResult {
    /// Every fault of this result, in order.
    ///
    /// ```
    /// use cni_types::result::{AddResult, IpConfig};
    /// let mut result = AddResult::default();
    /// result.ips.push(IpConfig::new("10.1.0.5/16".parse()?).on(7));
    /// assert_eq!(result.validate().len(), 1);
    /// # Ok::<(), cni_types::InvalidCidr>(())
    /// ```
    pub fn validate(&self) -> Vec<Problem> {
        let interfaces = self.interfaces.len();
        let unnamed = self.interfaces.iter().enumerate().filter(|(_, found)| found.name.is_empty());
        let out_of_range = self.ips.iter().enumerate().filter_map(|(ip, found)| {
            let index = found.interface.filter(|index| *index >= interfaces)?;
            Some(Problem::InterfaceOutOfRange { ip, index, interfaces })
        });
        unnamed.map(|(interface, _)| Problem::UnnamedInterface { interface }).chain(out_of_range).collect()
    }
}
