//! Many calls at once on a host where nothing is set up yet.

use serde_json::json;

use super::lab::{BACKENDS, C1, Lab};

/// How many containers start at once.
const MANY: u16 = 10;

#[test]
fn c75_parallel_adds_all_succeed_and_make_every_rule() {
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        let keys = json!({"backend": backend});
        let mappings = |n: u16| json!([{"hostPort": 8000 + n, "containerPort": 80}]);
        std::thread::scope(|scope| {
            for n in 0..MANY {
                let (lab, keys) = (&lab, &keys);
                scope
                    .spawn(move || lab.run(lab.add(&format!("cid{n}"), keys, &mappings(n))).assert_success());
            }
        });
        for n in 0..MANY {
            lab.run(lab.check(&format!("cid{n}"), &keys, &mappings(n))).assert_success();
        }
        let shared = if backend == "iptables" { lab.saved("iptables-save") } else { lab.nft() };
        let jumps = shared
            .lines()
            .filter(|line| line.contains("LOCAL") || line.contains("jump hostports_all"))
            .count();
        assert_eq!(jumps, if backend == "iptables" { 2 } else { 4 }, "one for each hook: {shared}");

        std::thread::scope(|scope| {
            for n in 0..MANY {
                let (lab, keys) = (&lab, &keys);
                scope.spawn(move || lab.run(lab.del(&format!("cid{n}"), keys)).assert_success());
            }
        });
        assert_eq!(lab.leftovers(), [""; 0]);
    }
}

#[test]
fn c75_calls_that_do_not_share_a_lock_succeed_as_well() {
    // As Go's plugin does not: each call has records of its own, and so a lock of its own.
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        let dirs: Vec<_> = (0..MANY).map(|_| tempfile::tempdir().unwrap()).collect();
        let keys: Vec<_> =
            dirs.iter().map(|dir| json!({"backend": backend, "dataDir": dir.path()})).collect();
        let mappings = |n: u16| json!([{"hostPort": 8000 + n, "containerPort": 80}]);
        std::thread::scope(|scope| {
            for n in 0..MANY {
                let (lab, keys) = (&lab, &keys[usize::from(n)]);
                scope
                    .spawn(move || lab.run(lab.add(&format!("cid{n}"), keys, &mappings(n))).assert_success());
            }
        });
        for n in 0..MANY {
            lab.run(lab.check(&format!("cid{n}"), &keys[usize::from(n)], &mappings(n))).assert_success();
        }
        std::thread::scope(|scope| {
            for n in 0..MANY {
                let (lab, keys) = (&lab, &keys[usize::from(n)]);
                scope.spawn(move || lab.run(lab.del(&format!("cid{n}"), keys)).assert_success());
            }
        });
        assert_eq!(lab.leftovers(), [""; 0]);
    }
}

#[test]
fn of_two_containers_that_want_a_port_at_once_one_gets_it() {
    for backend in BACKENDS {
        let Some(lab) = Lab::new() else { return };
        let keys = json!({"backend": backend});
        let mappings = json!([{"hostPort": 8080, "containerPort": 80}]);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..4)
                .map(|n| {
                    let (lab, keys, mappings) = (&lab, &keys, &mappings);
                    scope.spawn(move || lab.run(lab.add_to(&lab.c1, &format!("cid{n}"), C1, keys, mappings)))
                })
                .collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let (good, bad): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.error().is_none());
        assert_eq!((good.len(), bad.len()), (1, 3), "{backend}");
        for outcome in bad {
            outcome.assert_error(100);
        }
    }
}
