//! libFuzzer's entry to the law `cni_args`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::cni_args::check(bytes));
