//! On a made-up kernel, with made-up programs and IPAM plugins.

mod add;
mod address;
mod check;
mod del;
mod gc;
mod rollback;
mod rules;
mod status;
mod vlan;
mod world;
