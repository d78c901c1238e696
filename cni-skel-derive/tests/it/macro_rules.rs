//! The derives within `macro_rules!`, where names, literals and types come from different places.

use cni_skel::{CniArgs, CniError, CniPlugin, CodedError, RuntimeConfig};

macro_rules! plugin {
    ($plugin:ident, $name:literal, $versions:literal, $config:ty, $field:ident: $value:ty, $code:literal, $details:literal) => {
        #[derive(CniPlugin)]
        #[cni(name = $name, versions = $versions, config = $config, runtime = Runtime, args = Args, errors(Failure))]
        pub(super) struct $plugin;

        #[derive(RuntimeConfig)]
        pub(super) struct Runtime {
            pub(super) $field: $value,
        }

        #[derive(CniArgs)]
        pub(super) struct Args {
            pub(super) $field: $value,
        }

        #[derive(Debug, thiserror::Error, CniError)]
        #[error("failed")]
        #[cni(code = $code, details = $details)]
        pub(super) struct Failure {
            pub(super) $field: $value,
        }
    };
}

mod made {
    use super::*;
    plugin!(Made, "made", "0.4.0..=1.0.0", Vec<String>, size: u32, 142, "size {size}");
}

#[test]
fn a_macro_can_make_a_plugin() {
    assert_eq!(made::Made::NAME, "made");
    assert_eq!(made::Made::VERSIONS.len(), 2);
    assert_eq!(made::Runtime::CAPABILITIES, ["size"]);
    assert_eq!(made::Runtime::from_values(&Default::default()).unwrap().size, 0);
    assert_eq!(made::Args::parse("SIZE=3").unwrap().size, 3);
    let failure = made::Failure { size: 3 };
    assert_eq!((failure.code().value(), failure.details().as_deref()), (142, Some("size 3")));
    assert!(made::Made::coded(&failure).is_some());
}
