//! libFuzzer's entry to the law `cidr`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::cidr::check(bytes));
