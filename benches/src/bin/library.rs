//! What this library takes for a piece of work: `library <work> <times>`, the input on stdin; prints nanoseconds a time.
//! The equal of `peers/go/library/main.go`. `result-plain` and `gc-plain` are serde_json with derived types alone, which
//! knows one version and neither keeps unknown keys nor finds keys in another letter case: what typed JSON costs at least.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program run by the benchmark, whose output is its purpose"
)]

use std::hint::black_box;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Instant;

use cni_benches::plain;
use cni_types::CniVersion;
use cni_types::config::PluginConfig;
use cni_types::result::VersionedResult;

fn main() {
    let mut args = std::env::args().skip(1);
    let work: fn(&Arc<Vec<u8>>) = match args.next().as_deref() {
        Some("result") => result,
        Some("result-plain") => result_plain,
        Some("gc") => gc,
        Some("gc-plain") => gc_plain,
        other => panic!("unknown work {other:?}"),
    };
    let times: u32 = args.next().unwrap().parse().unwrap();
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).unwrap();
    let input = Arc::new(input);
    let start = Instant::now();
    for _ in 0..times {
        work(black_box(&input));
    }
    println!("{}", start.elapsed().as_secs_f64() * 1e9 / f64::from(times));
}

fn result(input: &Arc<Vec<u8>>) {
    let result = VersionedResult::decode(input).unwrap().convert(CniVersion::V0_4_0).unwrap();
    black_box(result.to_json());
}

fn result_plain(input: &Arc<Vec<u8>>) {
    black_box(plain::convert(input).unwrap());
}

fn gc(input: &Arc<Vec<u8>>) {
    let config = PluginConfig::decode_shared(input).unwrap();
    assert!(!black_box(config.valid_attachments().unwrap().unwrap()).is_empty());
}

fn gc_plain(input: &Arc<Vec<u8>>) {
    assert!(black_box(plain::attachments(input).unwrap()) > 0);
}
