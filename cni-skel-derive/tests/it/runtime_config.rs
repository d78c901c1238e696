//! Values of capabilities: given, absent, null, wrong.

use cni_skel::RuntimeConfig;
use cni_skel::capability::PortMapping;
use cni_skel::types::config::capability::Values;

type Maybe<T> = Option<T>;

#[derive(Debug, RuntimeConfig)]
struct Runtime {
    port_mappings: Vec<PortMapping>,
    mac: Maybe<String>,
    #[cni(rename = "io.example.size")]
    size: u32,
}

#[derive(Debug, RuntimeConfig)]
struct Nothing {}

fn values(text: &str) -> Values {
    serde_json::from_str(text).unwrap()
}

#[test]
fn absent_and_null_are_the_default() {
    for text in ["{}", r#"{"mac": null, "portMappings": null, "io.example.size": null}"#] {
        let runtime = Runtime::from_values(&values(text)).unwrap();
        assert_eq!(runtime.port_mappings, []);
        assert_eq!(runtime.mac, None);
        assert_eq!(runtime.size, 0);
    }
    Nothing::from_values(&values(r#"{"mac": "no matter what"}"#)).unwrap();
    assert!(Nothing::CAPABILITIES.is_empty());
}

#[test]
fn values_are_found_in_any_letter_case() {
    let text = r#"{"MAC": "aa:bb", "portmappings": [{"hostPort": 80}], "io.example.size": 7}"#;
    let runtime = Runtime::from_values(&values(text)).unwrap();
    assert_eq!(runtime.port_mappings[0].host_port, 80);
    assert_eq!(runtime.mac.as_deref(), Some("aa:bb"));
    assert_eq!(runtime.size, 7);
}

#[test]
fn a_wrong_value_is_told_with_its_path() {
    let error = Runtime::from_values(&values(r#"{"portMappings": [{"hostPort": 80}, {"hostPort": "x"}]}"#))
        .unwrap_err();
    assert!(error.to_string().contains("runtimeConfig.portMappings[1].hostPort"), "{error}");
}
