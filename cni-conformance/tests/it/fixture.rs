//! The fixture plugin, run within the test.

use std::path::PathBuf;
use std::sync::Arc;

use cni_conformance::{Conformance, Report};
use cni_invoke::{Exec, Exit, FindError, Invocation, Output, RunError, SearchPath};
use cni_types::PluginType;
use plugin_support::testing::TestNetns;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model;

/// How the plugin is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// As one that makes interfaces.
    Interface,
    /// … and delegates to an IPAM plugin.
    Delegating,
    /// As the IPAM plugin of another.
    Ipam,
}

impl Use {
    /// A configuration for it.
    pub(crate) fn config(self, name: &str, dir: &TempDir) -> Value {
        let mut config = json!({"cniVersion": "1.1.0", "name": "n", "stateDir": dir.path().join("state")});
        match self {
            Self::Interface => {}
            Self::Delegating => config["ipam"] = json!({"type": "some-ipam"}),
            Self::Ipam => {
                config["type"] = "some-main".into();
                config["ipam"] = json!({"type": name});
            }
        }
        config
    }
}

/// Tests the fixture that breaks a clause.
pub(crate) fn run(name: &str, used: Use, netns: Option<&TestNetns>) -> Report {
    let dir = TempDir::new().unwrap();
    let kit = Conformance::of_exec(
        Arc::new(Fixture),
        PluginType::new(name).unwrap(),
        "/fixture",
        used.config(name, &dir),
    );
    let kit = kit.unwrap().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    // Interfaces and delegates are processes, which take their time: the newest version will do.
    let kit =
        if used == Use::Interface && netns.is_none() { kit } else { kit.env("FIXTURE_VERSIONS", "newest") };
    match netns {
        None => kit.run(),
        Some(netns) => kit.netns(netns.path()).run(),
    }
}

struct Fixture;

impl Exec for Fixture {
    fn find(&self, plugin: &PluginType, _: &SearchPath) -> Result<PathBuf, FindError> {
        panic!("the kit looks for {plugin}")
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
        let environment =
            invocation.environment.iter().map(|(name, value)| (text(name), text(value))).collect();
        let reply = model::respond(invocation.plugin.as_str(), &environment, invocation.stdin);
        Ok(Output::new(Exit::Code(reply.exit.into()), reply.stdout).with_stderr(reply.stderr))
    }
}
