//! Plugins that a case scripts, and a record of every call.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cni_invoke::{Exec, Exit, FindError, Invocation, Output, RunError, SearchPath};
use cni_types::PluginType;

use crate::vectors::{case::Case, json::Json};

/// Finds every plugin in the first directory, and answers as `replies` says: by `type:COMMAND:containerID`, else by
/// `type:COMMAND`, else with success and no output.
pub(super) struct FakeExec {
    replies: Vec<(String, Json)>,
    missing: Vec<String>,
    calls: Mutex<Vec<Json>>,
    environment: Mutex<Vec<String>>,
}

impl FakeExec {
    pub(super) fn new(case: &Case) -> Self {
        let missing = case.input.field("missing_plugins").and_then(Json::as_array).unwrap_or_default();
        Self {
            replies: case.input.field("replies").and_then(Json::as_object).unwrap_or_default().to_vec(),
            missing: missing.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            calls: Mutex::default(),
            environment: Mutex::default(),
        }
    }

    /// Every `find` and `exec`, in order.
    pub(super) fn calls(&self) -> Json {
        Json::Array(self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The calls with the DELs of different attachments in one order: which is first is nobody's business. A DEL brings
    /// the search for its plugin along.
    pub(super) fn by_attachment(calls: &Json) -> Json {
        type Attachment = (String, String);
        let mut units: Vec<(Option<Attachment>, Vec<Json>)> = Vec::new();
        let mut unit = Vec::new();
        for call in calls.as_array().unwrap_or_default() {
            unit.push(call.clone());
            if call.field("exec").is_none() {
                continue;
            }
            let text = |name: &str| {
                call.at(&format!("env.{name}")).and_then(Json::as_str).unwrap_or_default().to_owned()
            };
            let attachment = (text("CNI_CONTAINERID"), text("CNI_IFNAME"));
            let key = (text("CNI_COMMAND") == "DEL").then_some(attachment);
            units.push((key, std::mem::take(&mut unit)));
        }
        // DELs first, in order; everything else stays where it was, after them.
        units.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        Json::Array(units.into_iter().flat_map(|(_, calls)| calls).chain(unit).collect())
    }

    /// The whole environment of the last call, in order of the names.
    pub(super) fn environment(&self) -> Json {
        let environment = self.environment.lock().unwrap_or_else(PoisonError::into_inner);
        Json::Array(environment.iter().map(Json::string).collect())
    }

    fn record(&self, call: Json) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

impl Exec for FakeExec {
    fn find(&self, plugin: &PluginType, search_path: &SearchPath) -> Result<PathBuf, FindError> {
        let dirs = search_path.dirs().iter().map(|dir| Json::string(dir.to_string_lossy())).collect();
        self.record(Json::object([("find", Json::string(plugin.as_str())), ("paths", Json::Array(dirs))]));
        match search_path.dirs().first() {
            Some(dir) if !self.missing.iter().any(|missing| plugin == missing.as_str()) => {
                Ok(PathBuf::from(format!("{}/{plugin}", dir.display())))
            }
            _ => Err(FindError::absent(plugin, search_path)),
        }
    }

    fn run(&self, invocation: &Invocation<'_>) -> Result<Output, RunError> {
        let mut variables: Vec<(String, String)> = invocation
            .environment
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        variables.sort();
        *self.environment.lock().unwrap_or_else(PoisonError::into_inner) =
            variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let container =
            variables.iter().find(|(name, _)| name == "CNI_CONTAINERID").map(|(_, value)| value.clone());
        let shown = variables.into_iter().filter(|(name, _)| name.starts_with("CNI_"));
        let stdin = String::from_utf8_lossy(invocation.stdin);
        self.record(Json::object([
            ("exec", Json::string(invocation.program.to_string_lossy())),
            ("env", Json::object(shown.map(|(name, value)| (name, Json::string(value))))),
            ("stdin", Json::parse_tolerantly(&stdin).unwrap_or_else(|_| Json::string(stdin))),
        ]));
        let short = format!("{}:{}", invocation.plugin, invocation.command);
        let long = format!("{short}:{}", container.unwrap_or_default());
        let reply = |wanted: &str| self.replies.iter().find(|(key, _)| key == wanted).map(|(_, reply)| reply);
        let Some(reply) = reply(&long).or_else(|| reply(&short)) else {
            return Ok(Output::new(Exit::SUCCESS, ""));
        };
        if let Some(text) = reply.field("plain_error").and_then(Json::as_str) {
            // Whatever is no error object: the plugin failed, and said so on stderr.
            return Ok(Output::new(Exit::Code(1), "").with_stderr(text.as_bytes().to_vec()));
        }
        if let Some(object) = reply.field("error") {
            return Ok(Output::new(Exit::Code(1), object.to_string()));
        }
        Ok(Output::new(Exit::SUCCESS, reply.field("stdout").and_then(Json::as_str).unwrap_or_default()))
    }
}
