//! Private types within public ones, public ones within functions, and types of other modules.

mod inner {
    use cni_skel::{CniArgs, CniError, CniPlugin, RuntimeConfig};

    #[derive(serde::Deserialize, Default)]
    struct Private(#[expect(dead_code, reason = "only decoded")] u8);

    #[derive(RuntimeConfig)]
    pub(super) struct Public<T = u8> {
        #[cni(rename = "a")]
        _private: Private,
        pub(super) b: Option<T>,
    }

    #[derive(CniArgs)]
    pub(super) struct Args {
        secret: u8,
    }

    impl Args {
        pub(super) fn reveal(&self) -> u8 {
            self.secret
        }
    }

    #[derive(Debug, thiserror::Error, CniError)]
    #[error("hidden")]
    #[cni(code = 142, details = "{secret}")]
    pub(super) struct Hidden {
        pub(super) secret: u8,
    }

    #[derive(CniPlugin)]
    #[cni(name = "public", runtime = self::Public, args = Args, errors(self::Hidden))]
    pub(super) struct Plugin;
}

#[test]
fn fields_stay_private() {
    use cni_skel::{CniArgs, CniPlugin, CodedError, RuntimeConfig};
    assert_eq!(inner::Args::parse("SECRET=7").unwrap().reveal(), 7);
    assert_eq!(inner::Public::<u8>::from_values(&Default::default()).unwrap().b, None);
    assert!(inner::Plugin::coded(&inner::Hidden { secret: 1 }).is_some());
    assert_eq!(inner::Hidden { secret: 1 }.details().as_deref(), Some("1"));
}

#[test]
fn a_function_can_hold_a_plugin() {
    use cni_skel::CniPlugin;

    #[derive(cni_skel::RuntimeConfig)]
    struct Local {
        #[expect(dead_code, reason = "only declared")]
        mac: Option<String>,
    }

    #[derive(CniPlugin)]
    #[cni(name = "local", runtime = Local)]
    struct Plugin;

    assert_eq!(<<Plugin as CniPlugin>::Runtime as cni_skel::RuntimeConfig>::CAPABILITIES, ["mac"]);
}
