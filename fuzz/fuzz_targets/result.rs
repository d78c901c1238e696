//! libFuzzer's entry to the law `result`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::result::check(bytes));
