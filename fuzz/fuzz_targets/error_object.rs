//! libFuzzer's entry to the law `error_object`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::error_object::check(bytes));
