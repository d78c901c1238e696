//! Writes the seeds of every target into the directory that `CNI_FUZZ_SEEDS` names. It is no target, but has to be linked
//! as one, since the code that it needs is instrumented: run it with `-runs=0`.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: {
        let dir = std::env::var_os("CNI_FUZZ_SEEDS").expect("CNI_FUZZ_SEEDS names a directory");
        cni_fuzz::seeds::write(dir.as_ref()).expect("the seeds can be read and written");
    },
    |_bytes: &[u8]| {}
);
