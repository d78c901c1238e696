//! The two ports of the guide: the page shows the files as they are, and they answer as the Go plugins did.
//!
//! `ports.json` has what the Go plugins answered, built with the library's release 1.1.2.

use std::path::Path;

use cni_skel::testing::{Invocation, Outcome};
use cni_skel::types::PluginDescription;
use serde::Deserialize;
use serde_json::Value;

use super::read;

const PAGE: &str = "docs/guide/porting-by-example.md";

#[allow(dead_code, reason = "a test calls no main")]
mod named {
    include!("../../../docs/guide/ports/named.rs");

    pub(super) const RUN: fn(super::Invocation) -> super::Outcome = |call| call.run(&Named);
    pub(super) const DESCRIBE: fn() -> super::PluginDescription = cni_skel::describe::<Named>;
}

#[allow(dead_code, reason = "a test calls no main")]
mod resolver {
    include!("../../../docs/guide/ports/resolver.rs");

    pub(super) const RUN: fn(super::Invocation) -> super::Outcome = |call| call.run(&Resolver);
    pub(super) const DESCRIBE: fn() -> super::PluginDescription = cni_skel::describe::<Resolver>;
}

/// A call, and what Go's plugin answered.
#[derive(Debug, Deserialize)]
struct Case {
    plugin: String,
    command: String,
    case: String,
    args: String,
    config: Value,
    exit: u8,
    answer: Value,
}

impl Case {
    fn run(&self, state: &Path) -> Outcome {
        let config = self.config.to_string().replace("@STATE@", state.to_str().unwrap());
        let call = Invocation::of(&self.command)
            .env("CNI_CONTAINERID", "c1")
            .env("CNI_IFNAME", "eth0")
            .netns("/run/netns/x")
            .args(&self.args)
            .stdin(config);
        match self.plugin.as_str() {
            "named" => named::RUN(call),
            "resolver" => resolver::RUN(call),
            other => panic!("{other}"),
        }
    }
}

/// Where the SDK's own checks give another code than a Go plugin's own words: it is told on the page.
const OTHER_CODES: [(&str, u64, u64); 1] = [("an unknown argument", 999, 4)];

#[test]
fn the_ports_answer_as_the_go_plugins_did() {
    let state = tempfile::tempdir().unwrap();
    let cases: Vec<Case> = serde_json::from_str(include_str!("ports.json")).unwrap();
    assert!(cases.len() > 20, "{} cases", cases.len());
    for case in cases {
        let outcome = case.run(state.path());
        assert_eq!(outcome.exit(), case.exit, "{case:?}\n{:?}", outcome.error());
        match outcome.error() {
            Some(error) => {
                let go = case.answer["code"].as_u64().unwrap();
                let other = OTHER_CODES.iter().find(|(what, ..)| *what == case.case);
                let expected = other.map_or(go, |(_, told_by_go, ours)| {
                    assert_eq!(*told_by_go, go, "{case:?}");
                    *ours
                });
                assert_eq!(error.code().value(), expected, "{case:?}\n{error}");
                if case.case == "a wrong type" {
                    let words = r#"nameservers: invalid type: string "10.96.0.10", expected a sequence"#;
                    assert!(error.msg.ends_with(words) && read(PAGE).contains(words), "{error}");
                }
            }
            None if case.answer.is_null() => assert!(outcome.stdout().is_empty(), "{case:?}"),
            None => {
                let mut go = case.answer.clone();
                // In 1.0.0 that release printed name resolution that is empty; later ones leave it out, as ours does.
                if go["cniVersion"] == "1.0.0" && go["dns"] == serde_json::json!({}) {
                    go.as_object_mut().unwrap().remove("dns");
                }
                assert_eq!(outcome.json(), go, "{case:?}");
            }
        }
    }
}

/// The blocks of a language on the page.
fn blocks(language: &str) -> Vec<String> {
    let page = read(PAGE);
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_page_shows_the_ports_as_they_are() {
    let file = |name: &str| read(&format!("docs/guide/ports/{name}"));
    assert_eq!(blocks("rust"), ["resolver.rs", "named.rs"].map(|name| file(name).trim_end().to_owned()));
    let go = file("resolver.go") + &file("named.go");
    let excerpts = blocks("go");
    assert!(excerpts.len() >= 6, "{} excerpts", excerpts.len());
    for excerpt in excerpts {
        assert!(go.contains(&excerpt), "the page shows what is not in the Go plugins:\n{excerpt}");
    }
}

#[test]
fn the_ports_describe_themselves() {
    let (named, resolver) = (named::DESCRIBE(), resolver::DESCRIBE());
    assert_eq!((named.name.as_str(), resolver.name.as_str()), ("named", "resolver"));
    assert_eq!(resolver.capabilities, ["dns"]);
    assert_eq!(resolver.arguments, ["K8S_POD_NAMESPACE"]);
}
