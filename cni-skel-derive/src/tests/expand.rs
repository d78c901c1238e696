//! The whole text of each expansion, so that a change of it is seen.

use insta::assert_snapshot;

use super::expanded;
use crate::expand::{cni_args, cni_error, cni_plugin, runtime_config};

#[test]
fn a_plugin_with_everything() {
    assert_snapshot!(expanded(
        cni_plugin,
        r#"
            /// Not used, as there is an about text.
            #[cni(name = "hello", about = "says hello", version = "1.2.0", versions = "0.4.0..=1.1.0")]
            #[cni(config = Config<Vec<u8>>, runtime = Runtime, args = Args, errors(PoolError, other::Error))]
            #[cni(deny_unknown_keys, crate = "sdk::cni")]
            struct Hello;
        "#
    ));
}

#[test]
fn a_plugin_with_its_name_alone() {
    assert_snapshot!(expanded(cni_plugin, r#"#[cni(name = "hello")] struct Hello;"#));
}

#[test]
fn a_generic_plugin() {
    assert_snapshot!(expanded(
        cni_plugin,
        r#"
            #[cni(name = "hello", config = Config<T>, runtime = R, args = crate::Args)]
            struct Hello<'a, T: Clone = u8, R = (), const N: usize = 1> where T: Send { it: &'a [(T, R); N] }
        "#
    ));
}

#[test]
fn capabilities() {
    assert_snapshot!(expanded(
        runtime_config,
        r#"
            struct Runtime {
                port_mappings: Vec<PortMapping>,
                mac: Option<MacAddr>,
                infiniband_guid: String,
                #[cni(rename = "io.example.thing")]
                thing: Thing<u8>,
            }
        "#
    ));
}

#[test]
fn arguments() {
    assert_snapshot!(expanded(
        cni_args,
        "struct Args { k8s_pod_name: String, #[cni(rename = \"Ip\")] ip: Option<IpAddr> }"
    ));
}

#[test]
fn generic_arguments_of_which_unknown_ones_are_ignored() {
    assert_snapshot!(expanded(cni_args, "#[cni(ignore_unknown)] struct Args<T> { it: Option<T> }"));
}

#[test]
fn an_enum_of_errors() {
    assert_snapshot!(expanded(
        cni_error,
        r#"
            #[cni(code = 100)]
            enum PoolError<T> {
                #[cni(code = TRY_AGAIN, details = "{{pool}} {0} of {1:>8}, {0:?}")]
                Busy(String, T),
                #[cni(details = "{name} in {type}")]
                Unknown { name: String, r#type: T, other: u8 },
                #[cni(transparent)]
                Other(Inner<T>),
                Plain,
            }
        "#
    ));
}

#[test]
fn a_struct_as_an_error() {
    assert_snapshot!(expanded(cni_error, "#[cni(code = 142)] struct Full;"));
    assert_snapshot!(expanded(cni_error, "#[cni(transparent)] struct Wrapped { inner: Inner }"));
    assert_snapshot!(expanded(cni_error, "enum Never {}"));
}

#[test]
fn an_impl_with_its_handlers() {
    let item = "impl Plugin for Hello {
        fn add(&self) {}
        #[cfg(unix)]
        #[inline]
        fn check(&self) {}
    }";
    let noted = crate::handlers::plugin(&proc_macro2::TokenStream::new(), item.parse().unwrap());
    assert_snapshot!(prettyplease::unparse(&syn::parse2(noted).unwrap()), @r#"
    impl Plugin for Hello {
        fn add(&self) {}
        #[cfg(unix)]
        #[inline]
        fn check(&self) {}
        #[doc(hidden)]
        const __HANDLERS: ::core::option::Option<
            &'static [&'static ::core::primitive::str],
        > = ::core::option::Option::Some(&["add", #[cfg(unix)] "check"]);
    }
    "#);
}
