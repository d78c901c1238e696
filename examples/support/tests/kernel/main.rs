//! What only a kernel can prove. Every test has network namespaces of its own and touches no other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod addr;
mod create;
mod fake;
mod firewall;
mod link;
mod neigh;
mod netns;
mod route;
mod rule;
mod sysctl;
mod traffic;
mod wait;
