//! Every mistake that an author can make, and what the compiler says of it.
//!
//! The texts are those of the toolchain that the workspace pins. After a change, write them anew with
//! `TRYBUILD=overwrite cargo test -p cni-skel-derive --test ui`, and review them as code.

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}
