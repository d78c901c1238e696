//! What tests of plugins that make an interface share. Feature `testing`; a plugin itself never enables it.
//!
//! [`World`] is a made-up node, on which plugins run without root, and [`Node`] a real one in a namespace of its own.

mod go;
mod node;
mod world;

pub use self::go::{GO, Pair, normal};
pub use self::node::{Answer, Binary, Node, has_tools, is_cut_off, pings, wire};
pub use self::world::{NETNS, World, addresses, commands};
