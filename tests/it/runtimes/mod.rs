//! Plugins under the container runtimes of the field. One story for all; each module chooses plugins and a
//! network.

mod cache;
mod go_plugins;
mod kubelet;
mod mixed;
mod noop_chain;
mod our_plugins;
mod story;
