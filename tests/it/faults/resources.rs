//! A disk that is full or read-only, and descriptors that run out.

use super::call::{Call, Outcome};
use super::node::{Node, told};
use cni_tests::need;

/// What is written to mean that the test cannot be done here.
const NO_MOUNT: i32 = 99;

/// Runs a script where the directories of cache and store are a file system of its own, of which the rest is removed. The
/// script is given the words of calls as functions. `None`: skip.
fn on_a_disk(node: &Node, options: &str, script: &str) -> Option<Outcome> {
    let function = |name: &str, call: &Call| {
        let quote = |text: &str| format!("'{text}'");
        let text = |text: &std::ffi::OsString| quote(text.to_str().unwrap());
        let env: Vec<_> = call.env.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let words: Vec<_> = call.words.iter().map(text).collect();
        let stdin = quote(call.stdin.to_str().unwrap());
        format!("{name}() {{ env -i {} {} <{stdin}; }}\n", env.join(" "), words.join(" "))
    };
    let functions = [
        ("add", node.add()),
        ("del", node.del()),
        ("gc", node.gc()),
        ("plugin_add", node.plugin("ADD")),
        ("plugin_del", node.plugin("DEL")),
        ("plugin_gc", node.plugin("GC")),
    ];
    let functions = functions.map(|(name, call)| function(name, &call)).concat();
    let disk = node.path("disk");
    let script = format!(
        "mount -t tmpfs -o {options} none {0} && cd {0} && mkdir cni data && mount --bind cni ../cni \
         && mount --bind data ../data || exit {NO_MOUNT}\n{functions}{script}",
        disk.display()
    );
    std::fs::create_dir_all(&disk).unwrap();
    let unshare = ["--user", "--map-root-user", "--mount", "sh", "-c", &script];
    let outcome = Call::new("unshare".as_ref(), &unshare).run();
    if outcome.status.code() == Some(NO_MOUNT) || outcome.stderr.starts_with("unshare: ") {
        need::skip(format!("needs a mount namespace: {}", outcome.stderr));
        return None;
    }
    Some(outcome)
}

/// Lists what attachments have left.
const LEFT: &str = r"
    left() { find cni data -type f ! -name lock ! -name 'last_reserved_ip.*' ! -name '*.idx' ! -path 'cni/.libcni-locks/[ga]*'; }
";

/// For every room that there may be, from none to enough.
fn full(room: impl Fn(usize) -> String, sizes: std::ops::RangeInclusive<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::empty(dir.path(), "1.1.0");
    let script = [
        LEFT,
        r#"
        add >/dev/null 2>&1; added=$?
        del >/dev/null 2>&1 || echo DEL failed
        left
        plugin_add >/dev/null 2>&1; echo $added $? >&2
        plugin_del || echo DEL of host-local failed
        # ADD has the same locks: where there is no room for them, there is no attachment.
        locked='GC was not executed: cannot lock .*/\(gate\|all\): No space left on device'
        gc >/dev/null 2>../gc.err || { [ $added = 1 ] && grep -q "$locked" ../gc.err; } || cat ../gc.err
        left
    "#,
    ]
    .concat();
    let mut endings = Vec::new();
    for size in sizes {
        let Some(outcome) = on_a_disk(&node, &room(size), &script) else { return };
        assert_eq!(outcome.stdout, "", "with {}: {outcome:?}", room(size));
        endings.push(outcome.stderr.trim().to_owned());
    }
    assert_eq!(endings.first().map(String::as_str), Some("1 1"), "too much room: {endings:?}");
    assert_eq!(endings.last().map(String::as_str), Some("0 0"), "too little room: {endings:?}");
}

#[test]
fn a_disk_without_room_for_files() {
    // The root directory, and the two that are made in it, are files, too.
    full(|count| format!("nr_inodes={count}"), 4..=24);
}

#[test]
fn a_disk_without_room_for_data() {
    full(|pages| format!("size={}k", pages * 4), 1..=16);
}

/// They give back room, and must not need any for that.
#[test]
fn del_and_gc_do_their_work_on_a_disk_that_others_have_filled() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::empty(dir.path(), "1.1.0");
    for cleaners in ["del && plugin_del", "gc >/dev/null", "plugin_gc && del"] {
        let script = r#"
            add >/dev/null && plugin_add >/dev/null || echo ADD failed
            left | wc -l
            cat /dev/zero >filler 2>/dev/null
            at=0; while true >filler.$at; do at=$((at + 1)); done 2>/dev/null
            true >data/n1/file && echo there is room for a file
        "#;
        let script = [LEFT, script, cleaners, " || echo failed\nleft\n"].concat();
        let Some(outcome) = on_a_disk(&node, "size=256k,nr_inodes=64", &script) else { return };
        // A record and two addresses, and two more of host-local's own.
        assert_eq!(outcome.stdout, "5\n", "{cleaners}: {outcome:?}");
    }
}

#[test]
fn a_disk_that_became_read_only() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::empty(dir.path(), "1.1.0");
    let script = r#"
        mkdir data/n1
        for mount in . ../cni ../data; do mount -o remount,bind,ro $mount 2>/dev/null || exit 99; done
        plugin_del || echo DEL failed where nothing can have been reserved
        for mount in . ../cni ../data; do mount -o remount,bind,rw $mount; done
        add >/dev/null || echo ADD failed
        for mount in . ../cni ../data; do mount -o remount,bind,ro $mount; done
        for call in del gc plugin_add plugin_del; do $call >/dev/null 2>&1; echo $call $?; done
        for mount in . ../cni ../data; do mount -o remount,bind,rw $mount; done
        del || echo DEL failed
        for mount in . ../cni ../data; do mount -o remount,bind,ro $mount; done
        add >/dev/null 2>&1; echo add $?
        for mount in . ../cni ../data; do mount -o remount,bind,rw $mount; done
        gc >/dev/null 2>&1 || echo GC failed
        find cni/results data/n1 -type f ! -name lock ! -name 'last_reserved_ip.*'
    "#;
    let Some(outcome) = on_a_disk(&node, "size=1m", script) else { return };
    let told = "del 1\ngc 1\nplugin_add 1\nplugin_del 1\nadd 1\n";
    assert_eq!(outcome.stdout, told, "{outcome:?}");
}

#[test]
fn descriptors_that_run_out() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path(), "1.1.0");
    if let Err(why) = need::program("prlimit") {
        return need::skip(why);
    }
    let calls = |limited: usize| {
        let limit = format!("--nofile={limited}");
        let under = |call: Call| call.under(&["prlimit", &limit]);
        [(false, under(node.add()), node.del()), (true, under(node.plugin("ADD")), node.plugin("DEL"))]
    };
    for (program, at_most) in [(0, 24), (1, 16)] {
        let mut succeeded = Vec::new();
        // With less than that the libraries of the program cannot be loaded.
        for limit in 4..=at_most {
            let (is_plugin, add, del) = calls(limit)[program].clone();
            let outcome = add.run();
            told(&outcome, is_plugin).unwrap();
            node.whole().unwrap();
            let expected = if outcome.status.success() { 2 } else { 0 };
            assert_eq!(node.addresses().unwrap(), expected, "{limit} descriptors: {outcome:?}");
            succeeded.push(outcome.status.success());
            del.good();
            node.clean().unwrap();
        }
        assert!(!succeeded[0] && succeeded[succeeded.len() - 1], "{succeeded:?}");
    }
    node.gc().good();
    node.swept().unwrap();
}
