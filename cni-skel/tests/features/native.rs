//! Async handlers in a process of their own: the guards are the same.

use serde_json::json;

use super::{answer, command, json, text};

#[test]
fn an_async_plugin_is_a_plugin() {
    let dir = tempfile::tempdir().unwrap();
    for (what, code) in [("nothing", 0), ("print", 0), ("panic", 1)] {
        let marker = dir.path().join(what);
        let config = json!({"cniVersion": "1.0.0", "name": "n", "type": "native", "marker": marker});
        let output = answer(command("native", "ADD").env("CNI_ARGS", format!("DO={what}")), &config);
        assert_eq!(output.status.code(), Some(code), "{what}: {output:?}");
        let document = json(&output);
        if code == 0 {
            assert_eq!(document["interfaces"][0]["name"], "eth0", "{what}");
        } else {
            assert_eq!(document["msg"], "the plugin panicked: out of luck");
        }
        assert_eq!(text(&output.stderr).contains("from a task"), what == "print");
        assert!(marker.exists(), "{what}: the task that was left behind is dropped");
    }
}
