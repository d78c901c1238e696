//! Tests on the kernel.
