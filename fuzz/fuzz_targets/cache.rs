//! libFuzzer's entry to the law `cache`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::cache::check(bytes));
