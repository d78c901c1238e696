//! libFuzzer's entry to the law `plugin_config`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cni_fuzz::plugin_config::check(bytes));
