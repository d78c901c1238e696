//! libFuzzer's entry to the law `store`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::store::check(bytes));
