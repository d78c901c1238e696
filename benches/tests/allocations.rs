//! How often a dispatch asks for memory, without the handler's work. A number that grows is looked into before it is
//! raised; `docs/benchmarks.md` says what each is for.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allocation_counter::measure;
use cni_benches::{ENVIRONMENT, Passthrough, request};
use cni_skel::{Call, Dispatcher};

/// The allocations of the dispatch of one call, and of what it hands over to be freed.
fn allocations(command: &str, stdin: &str) -> u64 {
    let environment =
        ENVIRONMENT.map(|(key, value)| (key, if key == "CNI_COMMAND" { command } else { value }));
    let plugin = Dispatcher::new(&Passthrough);
    let mut call = Some(Call::new(environment, stdin));
    let mut reply = None;
    let info = measure(|| reply = call.take().map(|call| plugin.respond(call)));
    assert_eq!(reply.unwrap().exit, 0, "{command}");
    info.count_total
}

#[test]
fn a_dispatch_allocates_what_it_keeps() {
    let add = request("passthrough");
    let bare = r#"{"cniVersion":"1.1.0","name":"bench","type":"passthrough","cni.dev/valid-attachments":[]}"#;
    let found = [
        ("ADD", allocations("ADD", &add)),
        ("DEL", allocations("DEL", &add)),
        ("DEL without prevResult", allocations("DEL", bare)),
        ("GC of nothing", allocations("GC", bare)),
        ("STATUS", allocations("STATUS", bare)),
        ("VERSION", allocations("VERSION", bare)),
    ];
    // The request's text, key by key: 26 of DEL less 9 without it are the prevResult; 16 more of ADD are the handler's copy
    // of that and the reply.
    let limits = [42, 26, 9, 6, 6, 13];
    for ((call, count), limit) in found.into_iter().zip(limits) {
        assert!(count <= limit, "{call} allocates {count} times, {limit} at most so far");
    }
}
