//! The span around a command, and where its log goes. With the feature `tracing`; without it none of this is compiled.
//!
//! The span is there whoever listens: a test or an author's own subscriber sees it as well. Only in a plugin's process,
//! and only if nobody listens yet, a subscriber is set up here, once the configuration has said where to write.

pub(crate) mod log;
mod parent;

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use tracing::field::Empty;

use self::parent::TraceParent;
use crate::call::Call;
use crate::dispatch::caught;
use crate::plugin::CniPlugin;
use crate::reply::Answer;
use crate::types::config::PluginConfig;
use crate::types::{Command, ErrorObject};
use crate::vars::Attached;

/// The variable by which a caller says which span is the parent; see <https://www.w3.org/TR/trace-context/>.
const TRACEPARENT: &str = "TRACEPARENT";

/// The span of a command.
pub(crate) struct CommandSpan(tracing::Span);

impl CommandSpan {
    /// Opens it. From here on a delegate of the call has it for its parent, if it has a parent itself.
    pub(crate) fn open<P: CniPlugin>(
        command: Command,
        call: &mut Call,
        attached: Option<&Attached>,
        config: &PluginConfig,
        notes: &mut String,
    ) -> Self {
        if call.is_process {
            log::set_up(config, notes);
        }
        // Of the gravest level, or whoever logs errors alone would not learn of which container they are.
        let span = tracing::error_span!(
            target: "cni_skel",
            "cni",
            command = command.as_str(),
            plugin = P::NAME,
            network = config.name,
            container = Empty,
            interface = Empty,
            trace_id = Empty,
            parent_id = Empty,
            span_id = Empty,
        );
        if let Some(attached) = attached {
            span.record("container", attached.container_id.as_str());
            span.record("interface", attached.ifname.as_str());
        }
        if let Some(parent) = call.var(TRACEPARENT).and_then(OsStr::to_str).and_then(TraceParent::parse) {
            let child = parent.child();
            span.record("trace_id", child.trace_id());
            span.record("parent_id", parent.span_id());
            span.record("span_id", child.span_id());
            call.env = Arc::new(with_parent(&call.env, &child));
        }
        Self(span)
    }

    /// Answers inside the span, and logs what came of it.
    pub(crate) fn run(
        &self,
        answer: impl FnOnce() -> Result<Answer, ErrorObject>,
    ) -> Result<Answer, ErrorObject> {
        self.0.in_scope(|| {
            tracing::debug!(target: "cni_skel", "called");
            let answer = caught(answer);
            match &answer {
                Ok(_) => tracing::debug!(target: "cni_skel", "succeeded"),
                Err(error) => tracing::error!(
                    target: "cni_skel",
                    code = error.code().value(),
                    error = error.msg,
                    details = Some(error.details.as_str()).filter(|details| !details.is_empty()),
                    "failed"
                ),
            }
            answer
        })
    }
}

/// The same closure for another thread, where it logs as it would have here.
pub(crate) fn carried<T>(run: impl FnOnce() -> T + Send) -> impl FnOnce() -> T + Send {
    let (span, subscriber) = (tracing::Span::current(), tracing::dispatcher::get_default(Clone::clone));
    move || tracing::dispatcher::with_default(&subscriber, || span.in_scope(run))
}

/// The environment with another parent.
fn with_parent(env: &[(OsString, OsString)], parent: &TraceParent) -> Vec<(OsString, OsString)> {
    let others = env.iter().filter(|(name, _)| name != TRACEPARENT).cloned();
    others.chain([(TRACEPARENT.into(), parent.to_string().into())]).collect()
}

#[cfg(test)]
mod tests;
