//! libFuzzer's entry to the law `dispatch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::dispatch::check(bytes));
