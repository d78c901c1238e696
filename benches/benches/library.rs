//! The library by itself: `cargo bench -p cni-benches`. `cargo test` runs each once.

use std::sync::Arc;

use cni_benches::{ENVIRONMENT, Passthrough, RESULT, gc_request, plain, request, routes};
use cni_skel::{Call, Dispatcher};
use cni_types::CniVersion;
use cni_types::config::PluginConfig;
use cni_types::result::VersionedResult;
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

#[divan::bench]
fn dispatch_add(bencher: Bencher<'_, '_>) {
    let plugin = Dispatcher::new(&Passthrough);
    let stdin = request("passthrough");
    bencher
        .counter(BytesCount::of_str(&stdin))
        .with_inputs(|| Call::new(ENVIRONMENT, stdin.as_str()))
        .bench_values(|call| plugin.respond(call));
}

#[divan::bench(args = [0, 1000])]
fn decode_convert_print(bencher: Bencher<'_, '_>, more_routes: usize) {
    let text = if more_routes == 0 { RESULT.to_owned() } else { routes(more_routes) };
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let result = VersionedResult::decode(divan::black_box(text.as_bytes()));
        result.map(|result| result.convert(CniVersion::V0_4_0).map(|result| result.to_json()))
    });
}

#[divan::bench]
fn decode_convert_print_plain(bencher: Bencher<'_, '_>) {
    bencher.counter(BytesCount::of_str(RESULT)).bench(|| plain::convert(divan::black_box(RESULT.as_bytes())));
}

#[divan::bench(args = [100, 1000, 10_000])]
fn decode_gc_request(bencher: Bencher<'_, '_>, attachments: usize) {
    let text = Arc::new(gc_request(attachments).into_bytes());
    bencher.counter(BytesCount::of_slice(text.as_slice())).bench(|| {
        let config = PluginConfig::decode_shared(divan::black_box(&text));
        config.and_then(|config| Ok(config.valid_attachments()?.map(<[_]>::len)))
    });
}
