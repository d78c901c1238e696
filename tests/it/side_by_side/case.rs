//! What the two are given: configurations and calls, as a table says them in few words.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The cases of one plugin.
pub(super) struct Suite {
    pub(super) plugin: &'static str,
    /// Other plugins that it calls.
    pub(super) delegates: &'static [&'static str],
    /// A script that makes the host what it is before the first call.
    pub(super) stage: &'static str,
    /// The result that a plugin before it in the chain would give, if it has to have one.
    pub(super) prev_result: Option<Value>,
    pub(super) scope: Scope,
    /// A script that prints what else is looked at in a place; its arguments lead `ip` and `tc` there.
    pub(super) more: &'static str,
    pub(super) cases: Vec<Case>,
}

impl Suite {
    /// Where the plugin may change something in a case.
    pub(super) fn places(&self, case: &Case) -> Vec<&'static str> {
        let host = matches!(self.scope, Scope::Host | Scope::Both).then_some("host");
        let containers = matches!(self.scope, Scope::Containers | Scope::Both);
        let ids: BTreeSet<_> = case.calls.iter().map(|call| call.id).filter(|_| containers).collect();
        host.into_iter().chain(ids).collect()
    }
}

/// What a plugin may change beside files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Nothing.
    Files,
    /// The host's links, addresses, routes, settings and rules.
    Host,
    /// The containers' links, addresses, routes and settings.
    Containers,
    /// Those of both.
    Both,
}

/// Calls with one configuration.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    /// The plugin's keys.
    pub(super) config: Value,
    pub(super) calls: Vec<Call>,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) command: &'static str,
    pub(super) id: &'static str,
    /// What is changed of the environment; `None` removes a variable.
    pub(super) envs: Vec<(&'static str, Option<&'static str>)>,
    /// Keys that are added to the configuration, or replace keys of it; `null` removes one.
    pub(super) keys: Value,
    /// What is sent instead of a configuration.
    pub(super) stdin: Option<&'static str>,
    /// A script that somebody runs before it.
    pub(super) before: Option<&'static str>,
}

/// A case with the usual life of a container: ADD, CHECK, DEL.
pub(super) fn case(name: &str, config: Value) -> Case {
    let calls = vec![add("c1"), check("c1"), del("c1")];
    Case { name: name.to_owned(), config, calls }
}

impl Case {
    /// The same with other calls.
    pub(super) fn calls(mut self, calls: impl Into<Vec<Call>>) -> Self {
        self.calls = calls.into();
        self
    }

    /// The same with another DEL at the end.
    pub(super) fn del_twice(mut self) -> Self {
        self.calls.push(del("c1"));
        self
    }

    /// The same with `CNI_ARGS` in every call.
    pub(super) fn args(mut self, args: &'static str) -> Self {
        for call in &mut self.calls {
            call.envs.push(("CNI_ARGS", Some(args)));
        }
        self
    }

    /// The same with a script before the first call.
    pub(super) fn before(mut self, script: &'static str) -> Self {
        self.calls[0].before = Some(script);
        self
    }
}

pub(super) fn add(id: &'static str) -> Call {
    call("ADD", id)
}

pub(super) fn check(id: &'static str) -> Call {
    call("CHECK", id)
}

pub(super) fn del(id: &'static str) -> Call {
    call("DEL", id)
}

/// Any command.
pub(super) fn call(command: &'static str, id: &'static str) -> Call {
    Call { command, id, envs: Vec::new(), keys: json!({}), stdin: None, before: None }
}

impl Call {
    pub(super) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.envs.push((name, Some(value)));
        self
    }

    pub(super) fn without(mut self, name: &'static str) -> Self {
        self.envs.push((name, None));
        self
    }

    pub(super) fn args(self, args: &'static str) -> Self {
        self.env("CNI_ARGS", args)
    }

    pub(super) fn ifname(self, name: &'static str) -> Self {
        self.env("CNI_IFNAME", name)
    }

    pub(super) fn keys(mut self, keys: Value) -> Self {
        self.keys = keys;
        self
    }

    pub(super) fn stdin(mut self, text: &'static str) -> Self {
        self.stdin = Some(text);
        self
    }

    pub(super) fn before(mut self, script: &'static str) -> Self {
        self.before = Some(script);
        self
    }

    /// The attachment, by which results are remembered.
    pub(super) fn attachment(&self) -> (&'static str, &'static str) {
        let ifname =
            self.envs.iter().rev().find(|(name, _)| *name == "CNI_IFNAME").and_then(|(_, value)| *value);
        (self.id, ifname.unwrap_or("eth0"))
    }
}
