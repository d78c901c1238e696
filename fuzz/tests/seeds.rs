//! The laws hold for every seed, without a fuzzer.

#[test]
fn every_seed_keeps_the_laws() {
    for (target, check) in cni_fuzz::TARGETS {
        let seeds = cni_fuzz::seeds::of(target).unwrap();
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for seed in seeds {
            check(&seed);
        }
    }
}
