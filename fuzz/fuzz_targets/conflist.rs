//! libFuzzer's entry to the law `conflist`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::conflist::check(bytes));
