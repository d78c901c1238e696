//! The runtime's side with real plugins: configurations as they are in the field, run by our libcni through
//! `cnitool`, with Go's plugins, with ours, and with one set after the other while containers live.

mod crash;
mod gc;
mod life;
mod node;
