//! What our plugins say of themselves is what the page on `cnitool` shows. Its other sections, where the plugins may be
//! made up, are run by the tests of `cnitool`.

use cni_tests::bins;

use super::{console, read};

#[test]
fn what_the_page_shows_of_our_plugins_is_what_they_say() {
    let node = tempfile::tempdir().unwrap();
    let node = node.path().canonicalize().unwrap();
    for plugin in ["bridge", "static", "tuning"] {
        std::os::unix::fs::symlink(bins::build(plugin), node.join(plugin)).unwrap();
    }
    let page = read("docs/guide/cnitool.md");
    let section = page.split("\n## ").find(|section| section.starts_with("What plugins say")).unwrap();
    let list = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(node.join("30-new-network.conflist"), list).unwrap();
    let cnitool = bins::build("cnitool");
    let mut shell = console::Shell::new(&node, "")
        .with("PATH", format!("{}:/usr/bin:/bin", cnitool.parent().unwrap().display()))
        .with("NETCONFPATH", node.to_str().unwrap())
        .with("CNI_PATH", node.to_str().unwrap());

    let calls = console::calls(section);
    assert_eq!(calls.len(), 2);
    for call in calls {
        // One directory has both the configurations and the plugins.
        let here = |there: &str| call.shown.replace(there, node.to_str().unwrap());
        let shown = here("/etc/cni/net.d").replace("/opt/cni/bin", node.to_str().unwrap());
        let printed = shell.run(&call.command);
        assert!(console::agrees(&shown, &printed), "$ {}\n{printed}", call.command);
    }
}
