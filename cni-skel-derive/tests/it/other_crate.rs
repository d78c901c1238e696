//! `cni-skel` under another name, as a framework re-exports it.
//!
//! The framework's traits are not those of `cni-skel`, so that an expansion which names the real crate does not compile
//! into an impl of these.

use cni_skel::{CniArgs, CniError, CniPlugin, RuntimeConfig};

/// A framework: same shape, other traits.
mod framework {
    pub(super) mod sdk {
        pub(in super::super) use cni_skel::{__private, ArgValue, types};

        pub(in super::super) trait CniPlugin {
            type Config;
            type Runtime;
            type Args;
            const NAME: &'static str;
            const ABOUT: &'static str;
            const VERSION: &'static str;
            const VERSIONS: &'static [types::CniVersion];
            const DENY_UNKNOWN_KEYS: bool;
            fn config_schema() -> Option<serde_json::Value>;
        }

        pub(in super::super) trait RuntimeConfig: Sized {
            const CAPABILITIES: &'static [&'static str];
            fn from_values(values: &types::config::capability::Values) -> Result<Self, types::DecodeError>;
        }

        pub(in super::super) trait CniArgs: Sized {
            const KEYS: &'static [&'static str];
            fn from_args(args: &types::CniArgs) -> Result<Self, types::args::InvalidArgs>;
        }

        pub(in super::super) trait CodedError {
            fn code(&self) -> types::ErrorCode;
            fn details(&self) -> Option<String> {
                None
            }
        }
    }
}

#[derive(CniPlugin)]
#[cni(name = "elsewhere", crate = "framework::sdk")]
struct Plugin;

#[derive(RuntimeConfig)]
#[cni(crate = "self::framework::sdk")]
struct Runtime {
    mac: Option<String>,
}

#[derive(CniArgs)]
#[cni(crate = "crate::other_crate::framework::sdk")]
struct Args {
    ip: Option<u8>,
}

#[derive(CniError)]
#[cni(crate = "framework::sdk", code = TRY_AGAIN, details = "{0}")]
struct Failure(u8);

/// A framework's own macro knows where its re-export is, whoever calls it.
macro_rules! framework_plugin {
    ($name:ident) => {
        #[derive(CniPlugin)]
        #[cni(name = "made", crate = $crate::other_crate::framework::sdk)]
        struct $name;
    };
}
framework_plugin!(Made);

#[test]
fn the_frameworks_traits_are_implemented() {
    use framework::sdk;
    assert_eq!(<Plugin as sdk::CniPlugin>::NAME, "elsewhere");
    assert_eq!(<Plugin as sdk::CniPlugin>::ABOUT, "CNI plugin elsewhere");
    assert_eq!(<Plugin as sdk::CniPlugin>::VERSION, env!("CARGO_PKG_VERSION"));
    assert_eq!(<Plugin as sdk::CniPlugin>::VERSIONS.len(), 7);
    const { assert!(!<Plugin as sdk::CniPlugin>::DENY_UNKNOWN_KEYS) };
    let schema = <Plugin as sdk::CniPlugin>::config_schema();
    assert!(schema.is_none_or(|schema| schema["type"] == "object"));
    assert_eq!(<Made as sdk::CniPlugin>::NAME, "made");
    assert_eq!(<Runtime as sdk::RuntimeConfig>::CAPABILITIES, ["mac"]);
    assert_eq!(<Args as sdk::CniArgs>::KEYS, ["IP"]);
    assert_eq!(<Runtime as sdk::RuntimeConfig>::from_values(&Default::default()).unwrap().mac, None);
    assert_eq!(<Args as sdk::CniArgs>::from_args(&"IP=1".parse().unwrap()).unwrap().ip, Some(1));
    assert_eq!(sdk::CodedError::code(&Failure(1)).value(), 11);
    assert_eq!(sdk::CodedError::details(&Failure(1)).as_deref(), Some("1"));
}
