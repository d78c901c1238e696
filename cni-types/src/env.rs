//! The names of the protocol's environment variables, and nothing else.
//!
//! See [the spec's parameters](https://github.com/containernetworking/cni/blob/main/SPEC.md#parameters).

/// The operation: `ADD`, `DEL`, `CHECK`, `GC`, `STATUS` or `VERSION`.
pub const COMMAND: &str = "CNI_COMMAND";
/// The container's ID.
pub const CONTAINER_ID: &str = "CNI_CONTAINERID";
/// The path of the container's isolation domain, such as `/run/netns/blue`.
pub const NETNS: &str = "CNI_NETNS";
/// The name of the interface inside the container.
pub const IFNAME: &str = "CNI_IFNAME";
/// Extra `key=value` pairs, separated by `;`.
pub const ARGS: &str = "CNI_ARGS";
/// The directories to look for plugins in, separated by `:`.
pub const PATH: &str = "CNI_PATH";
/// Allows `CNI_NETNS` to be the plugin's own namespace when `1` or `true`. Not in the spec; Go's library has it.
pub const NETNS_OVERRIDE: &str = "CNI_NETNS_OVERRIDE";

/// The variables that carry a trace from the runtime to plugins and delegates (W3C Trace Context and Baggage).
pub const TRACE: [&str; 3] = ["TRACEPARENT", "TRACESTATE", "BAGGAGE"];
