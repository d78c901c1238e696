//! A plugin beside Go's, which is that of Debian's `containernetworking-plugins`.

use std::path::{Path, PathBuf};

use plugin_support::testing::skip;
use serde_json::{Value, json};

use super::Binary;

/// Where Go's plugins are.
pub const GO: &str = "/usr/lib/cni";

/// Our plugin, and Go's of the same name.
#[derive(Debug)]
pub struct Pair {
    go: PathBuf,
    ours: PathBuf,
}

impl Pair {
    /// The pair of a name; `None` after saying that the test is skipped.
    pub fn new(name: &str, ours: &str) -> Option<Self> {
        let go = Path::new(GO).join(name);
        for path in [&go, &Path::new(GO).join("host-local")] {
            if !path.exists() {
                skip(&format!("no Go plugin {path:?}"));
                return None;
            }
        }
        Some(Self { go, ours: ours.into() })
    }

    /// Both, Go's first; Go's `host-local` serves either.
    pub fn both(&self) -> [(&'static str, Binary<'_>); 2] {
        [
            ("Go's", Binary { path: &self.go, cni_path: GO }),
            ("ours", Binary { path: &self.ours, cni_path: GO }),
        ]
    }

    /// Both as who makes and who undoes, either way.
    pub fn either_way(&self) -> [[(&'static str, Binary<'_>); 2]; 2] {
        let [go, ours] = self.both();
        [[go, ours], [ours, go]]
    }
}

/// A result without what differs each time, and without the MTU, which Debian's plugins do not know. Go's print `dns`
/// though there is none.
///
/// # Panics
///
/// When it is no object.
pub fn normal(mut result: Value) -> Value {
    let object = result.as_object_mut().unwrap_or_else(|| panic!("no object"));
    object.retain(|key, value| key != "dns" || *value != json!({}));
    let interfaces = object.get_mut("interfaces").and_then(Value::as_array_mut);
    for interface in interfaces.into_iter().flatten().filter_map(Value::as_object_mut) {
        interface.remove("mtu");
        interface.insert("mac".into(), json!("*"));
        for key in ["name", "sandbox"] {
            let drawn =
                interface.get(key).and_then(Value::as_str).is_some_and(|name| name.starts_with(['v', '/']));
            if drawn {
                interface.insert(key.into(), json!("*"));
            }
        }
    }
    result
}
