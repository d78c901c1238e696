//! Where a plugin gets its namespaces from: the seam between a plugin and the kernel.
//!
//! Links, addresses, routes, sysctls and tracked connections all come from a [`NetNs`], and namespaces come from here.
//! A plugin that holds a [`Kernel`] runs unchanged on a made-up one in its tests, without root.

use std::path::PathBuf;

use crate::error::Result;
use crate::netns::NetNs;

/// The kernel of this machine or, in tests, a made-up one (`testing::FakeKernel`).
///
/// ```no_run
/// use plugin_support::kernel::Kernel;
///
/// let kernel = Kernel::default();
/// let (host, container) = (kernel.current()?, kernel.netns("/run/netns/blue")?);
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    #[cfg(feature = "testing")]
    fake: Option<crate::testing::FakeKernel>,
}

impl Kernel {
    /// The namespace that the plugin runs in; see [`NetNs::current`].
    ///
    /// # Errors
    ///
    /// As [`NetNs::current`].
    pub fn current(&self) -> Result<NetNs> {
        #[cfg(feature = "testing")]
        if let Some(fake) = &self.fake {
            return Ok(fake.host());
        }
        NetNs::current()
    }

    /// The namespace at `path`; see [`NetNs::open`].
    ///
    /// # Errors
    ///
    /// As [`NetNs::open`].
    pub fn netns(&self, path: impl Into<PathBuf>) -> Result<NetNs> {
        #[cfg(feature = "testing")]
        if let Some(fake) = &self.fake {
            return fake.open(&path.into());
        }
        NetNs::open(path)
    }
}

#[cfg(feature = "testing")]
impl From<&crate::testing::FakeKernel> for Kernel {
    fn from(fake: &crate::testing::FakeKernel) -> Self {
        Self { fake: Some(fake.clone()) }
    }
}
