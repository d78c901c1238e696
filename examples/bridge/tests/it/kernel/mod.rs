//! On the real kernel: one namespace plays the host, others the containers. Needs root.

mod links;
mod node;
mod parallel;
mod reach;
mod rules;
mod traces;

pub(crate) use node::{Binary, Node, has_tools};
