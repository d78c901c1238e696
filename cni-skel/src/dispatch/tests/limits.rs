//! Requests made to cost much: too long, nested deep, of very many keys. Each is answered.

use crate::testing::Invocation;
use crate::{AddRequest, AddResult, CniPlugin, DelRequest, ErrorCode, MAX_STDIN_BYTES, Plugin, Result};

/// A type that goes as deep as its values do.
#[derive(serde::Deserialize)]
struct Tree {
    #[serde(default)]
    below: Vec<Tree>,
    #[serde(default)]
    any: Option<serde_json::Value>,
}

impl Tree {
    fn depth(&self) -> usize {
        1 + self.below.iter().map(Self::depth).max().unwrap_or_default()
    }
}

struct Deep;

impl CniPlugin for Deep {
    type Config = Tree;
    type Runtime = ();
    type Args = ();
    const NAME: &'static str = "deep";
    const ABOUT: &'static str = "reads as deep as it is told";
}

impl Plugin for Deep {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let mut result = req.result();
        result.dns.domain = format!("{} {}", req.config().depth(), req.config().any.is_some());
        Ok(result)
    }

    fn del(&self, _: &DelRequest<Self>) -> Result<()> {
        Ok(())
    }
}

fn add(stdin: impl Into<Vec<u8>>) -> crate::testing::Outcome {
    Invocation::add("c1", "/run/netns/none", "eth0").stdin(stdin).run(&Deep)
}

#[test]
fn stdin_is_bounded_and_the_error_says_how() {
    let mut stdin = br#"{"cniVersion":"1.1.0","name":"n","type":"deep"}"#.to_vec();
    stdin.resize(MAX_STDIN_BYTES, b' ');
    add(stdin.clone()).assert_success();
    stdin.push(b' ');
    let outcome = add(stdin);
    let error = outcome.assert_error(ErrorCode::IO_FAILURE.value());
    assert!(error.msg.contains("stdin is longer than 67108864 bytes"), "{error}");
}

#[test]
fn no_depth_overflows_the_stack() {
    let tree = |levels: usize| {
        let below = [r#"{"BELOW":["#.repeat(levels), "{}".to_owned(), "]}".repeat(levels)].concat();
        format!(r#"{{"cniVersion":"1.1.0","name":"n","type":"deep","below":[{below}]}}"#)
    };
    let outcome = add(tree(62));
    outcome.assert_success();
    assert_eq!(outcome.result().dns.domain, "64 false");
    for json in [
        tree(64),
        tree(100_000),
        format!(r#"{{"name":"n","type":"deep","any":{}1{}}}"#, "[".repeat(500_000), "]".repeat(500_000)),
        format!(r#"{{"name":"n","type":"deep","args":{}1{}}}"#, "[".repeat(500_000), "]".repeat(500_000)),
        "[".repeat(1_000_000),
    ] {
        let outcome = add(json.clone());
        let error = outcome.error().unwrap();
        let start = &json[..60];
        assert!(
            [ErrorCode::DECODING_FAILURE, ErrorCode::INVALID_NETWORK_CONFIG].contains(&error.code()),
            "{start}: {error}"
        );
    }
}

#[test]
fn many_keys_are_read_in_time() {
    let keys: Vec<_> = (0..200_000).map(|number| format!(r#""{number:x}":1"#)).collect();
    let keys = keys.join(",");
    let json = format!(
        r#"{{"cniVersion":"1.1.0","name":"n","type":"deep",{keys},"below":[{{{keys}}}],"any":{{{keys}}}}}"#
    );
    let outcome = add(json);
    outcome.assert_success();
    assert_eq!(outcome.result().dns.domain, "2 true");
}
