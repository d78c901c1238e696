//! libFuzzer's entry to the law `convert`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::convert::check(bytes));
