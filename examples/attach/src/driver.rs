//! Whether the kernel has the driver of a plugin's links. STATUS asks, so that a node is known to lack it before a container
//! comes.

use cni_skel::{ErrorCode, Result, ResultExt};
use plugin_support::kernel::Kernel;

/// Verifies that links of a kind can be made. A kernel that can load the driver does so, as it would for ADD.
///
/// # Errors
///
/// When they cannot, as the driver or the privilege is missing. Code 50.
pub fn status(kernel: &Kernel, kind: &str) -> Result<()> {
    let tried = kernel.current()?.netlink()?.try_kind(kind);
    let is_missing = tried.as_ref().is_err_and(plugin_support::Error::is_unsupported);
    let told = || {
        let advice = if is_missing {
            format!(
                ": the kernel lacks the driver, which \"modprobe {}\" loads where it is a module",
                module(kind)
            )
        } else {
            String::new()
        };
        format!("no {kind} link can be made{advice}")
    };
    tried.with_context(told).code(ErrorCode::PLUGIN_NOT_AVAILABLE)
}

/// The module that has the driver of a kind.
fn module(kind: &str) -> &str {
    if kind == "vlan" { "8021q" } else { kind }
}

#[cfg(test)]
mod tests {
    use plugin_support::testing::FakeKernel;

    use super::*;

    #[test]
    fn what_the_kernel_lacks_is_told_with_the_module_that_has_it() {
        let fake = FakeKernel::new();
        let kernel = Kernel::from(&fake);
        let told = |kind: &str, errno: i32| {
            fake.refuse(format!("create {kind}"), errno);
            let error = status(&kernel, kind).unwrap_err().to_object();
            assert_eq!(error.code(), ErrorCode::PLUGIN_NOT_AVAILABLE);
            error.msg
        };
        for (kind, module) in [("vlan", "8021q"), ("dummy", "dummy"), ("vrf", "vrf")] {
            let start = format!(
                "no {kind} link can be made: the kernel lacks the driver, which \"modprobe {module}\" loads where it is a module: "
            );
            assert!(told(kind, 95).starts_with(&start), "{start}");
            status(&kernel, kind).unwrap();
        }
        // It may have the driver; to load it would not help.
        let msg = told("vlan", 1);
        assert!(msg.ends_with(": operation not permitted") && !msg.contains("modprobe"), "{msg}");
        assert_eq!(fake.log(), [""; 0]);
    }
}
