//! The variables of the protocol, from typed values: the one place that writes `CNI_*`.
//!
//! A runtime starts here. A plugin that calls another passes its own environment on instead, and only the command
//! changes: see [`crate::Request`].

use std::path::PathBuf;

use cni_types::{CniArgs, Command, ContainerId, InterfaceName, env};

use crate::environment::Environment;
use crate::find::SearchPath;

/// What a runtime tells a plugin by its environment.
///
/// ```
/// use cni_invoke::{Environment, Parameters, SearchPath};
/// use cni_types::{ContainerId, InterfaceName};
///
/// let mut parameters = Parameters::attachment(ContainerId::new("c1")?, InterfaceName::new("eth0")?);
/// parameters.netns = Some("/run/netns/c1".into());
/// parameters.search_path = SearchPath::parse("/opt/cni/bin");
/// let inherited = [("PATH", "/bin"), ("CNI_NETNS", "/stale")].into_iter().collect();
/// let environment = parameters.environment(inherited);
/// assert_eq!(environment.find("CNI_NETNS").unwrap(), "/run/netns/c1");
/// assert_eq!(environment.find("CNI_ARGS").unwrap(), "");
/// # Ok::<(), cni_types::InvalidName>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#parameters).
#[doc(alias = "Args")]
#[doc(alias = "AsEnv")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameters {
    /// `CNI_CONTAINERID`.
    pub container_id: Option<ContainerId>,
    /// `CNI_NETNS`; on DEL it may be gone.
    pub netns: Option<PathBuf>,
    /// `CNI_IFNAME`.
    pub ifname: Option<InterfaceName>,
    /// `CNI_ARGS`.
    pub args: CniArgs,
    /// `CNI_PATH`.
    pub search_path: SearchPath,
    /// The trace that the call belongs to, if any.
    pub trace: Option<Trace>,
}

impl Parameters {
    /// The parameters of an attachment: a container and an interface in it.
    pub fn attachment(container_id: ContainerId, ifname: InterfaceName) -> Self {
        Self { container_id: Some(container_id), ifname: Some(ifname), ..Self::default() }
    }

    /// The environment for a plugin, but for the command, which each operation sets.
    ///
    /// Everything inherited stays, except that the variables of the protocol are replaced. Those without a value are
    /// set to an empty one, as Go's library does, so that an inherited one cannot show through.
    pub fn environment(&self, mut inherited: Environment) -> Environment {
        inherited.set(env::CONTAINER_ID, self.container_id.as_ref().map_or("", ContainerId::as_str));
        inherited.set(env::NETNS, self.netns.clone().unwrap_or_default());
        inherited.set(env::IFNAME, self.ifname.as_ref().map_or("", InterfaceName::as_str));
        inherited.set(env::ARGS, self.args.to_string());
        inherited.set(env::PATH, self.search_path.to_text());
        if let Some(trace) = &self.trace {
            trace.put_into(&mut inherited);
        }
        inherited
    }
}

/// A trace as [W3C Trace Context](https://www.w3.org/TR/trace-context/) and Baggage have it, for `TRACEPARENT` and so on.
///
/// Nothing here makes a trace or a span; the values are the caller's, and are passed on as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// `TRACEPARENT`.
    pub parent: String,
    /// `TRACESTATE`.
    pub state: Option<String>,
    /// `BAGGAGE`.
    pub baggage: Option<String>,
}

impl Trace {
    /// A trace without state and baggage.
    pub fn new(parent: impl Into<String>) -> Self {
        Self { parent: parent.into(), state: None, baggage: None }
    }

    /// Replaces an inherited trace as a whole: a state that belongs to another parent would be wrong.
    fn put_into(&self, environment: &mut Environment) {
        let values = [Some(&self.parent), self.state.as_ref(), self.baggage.as_ref()];
        for (name, value) in env::TRACE.into_iter().zip(values) {
            match value {
                Some(value) => environment.set(name, value),
                None => environment.remove(name),
            }
        }
    }
}

/// An environment with the command of one operation.
pub(crate) fn with_command(environment: &Environment, command: Command) -> Environment {
    let mut environment = environment.clone();
    environment.set(env::COMMAND, command.as_str());
    if command == Command::Version {
        // Plugins built against an early Go library want these even for VERSION.
        for name in [env::NETNS, env::IFNAME, env::PATH] {
            environment.set(name, "dummy");
        }
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inherited(trace: &[(&str, &str)]) -> Environment {
        trace.iter().copied().chain([("PATH", "/bin")]).collect()
    }

    fn traced(trace: Option<Trace>, inherited: Environment) -> [Option<String>; 3] {
        let parameters = Parameters { trace, ..Parameters::default() };
        let environment = with_command(&parameters.environment(inherited), Command::Add);
        for name in env::TRACE {
            assert!(environment.iter().filter(|(key, _)| *key == name).count() <= 1, "{name} stands twice");
        }
        env::TRACE.map(|name| environment.find(name).map(|value| value.to_string_lossy().into_owned()))
    }

    #[test]
    fn c96_a_trace_replaces_an_inherited_one_and_none_adds_nothing() {
        let old = [("TRACEPARENT", "old"), ("TRACESTATE", "old"), ("BAGGAGE", "old")];
        let new = Trace { state: Some("s".to_owned()), ..Trace::new("p") };
        assert_eq!(
            traced(Some(new.clone()), inherited(&[])),
            [Some("p".to_owned()), Some("s".to_owned()), None]
        );
        assert_eq!(traced(Some(new), inherited(&old)), [Some("p".to_owned()), Some("s".to_owned()), None]);
        assert_eq!(traced(None, inherited(&[])), [None, None, None]);
        assert_eq!(traced(None, inherited(&old[..1])), [Some("old".to_owned()), None, None]);
    }

    #[test]
    fn inherited_variables_of_the_protocol_never_show_through() {
        let stale = ["CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH"];
        let mut inherited: Environment = stale.map(|name| (name, "stale")).into_iter().collect();
        inherited.set("CNI_NETNS_OVERRIDE", "1");
        let environment = with_command(&Parameters::default().environment(inherited), Command::Status);
        let found: Vec<_> = environment
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                ("CNI_COMMAND", "STATUS"),
                ("CNI_CONTAINERID", ""),
                ("CNI_NETNS", ""),
                ("CNI_IFNAME", ""),
                ("CNI_ARGS", ""),
                ("CNI_PATH", ""),
                ("CNI_NETNS_OVERRIDE", "1"),
            ]
        );
    }

    #[test]
    fn every_value_arrives_as_it_is() {
        let mut parameters =
            Parameters::attachment(ContainerId::new("c1").unwrap(), InterfaceName::new("eth0").unwrap());
        parameters.netns = Some("/run/netns/c1".into());
        parameters.args = "IgnoreUnknown=1;A=b=c".parse().unwrap();
        parameters.search_path = SearchPath::new(["/opt/cni/bin", "/no:colon", "/usr/lib/cni"]);
        let environment = parameters.environment(Environment::new());
        for (name, value) in [
            ("CNI_CONTAINERID", "c1"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_NETNS", "/run/netns/c1"),
            ("CNI_ARGS", "IgnoreUnknown=1;A=b=c"),
            ("CNI_PATH", "/opt/cni/bin:/usr/lib/cni"),
        ] {
            assert_eq!(environment.find(name).unwrap(), value, "{name}");
        }
    }
}
