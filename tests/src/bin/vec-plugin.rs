//! The plugin that `skel_dispatch` was recorded with, on our SDK: what its handlers do is told by the environment.
//!
//! * `VEC_VERSIONS`: the supported versions, separated by commas; unset for all released ones, empty for none.
//! * `VEC_OUTCOME`: what a handler does after it wrote a line about its call to stderr; see [`VecPlugin::outcome`].
//! * `VEC_NIL`: commands without a handler; only those that may be without one.
//! * `VEC_ABOUT` has no meaning here: a plugin on this SDK always has an about text, and it is fixed.

use std::io::Write as _;
use std::process::ExitCode;

use cni_skel::{
    AddRequest, AddResult, Call, CheckRequest, CniPlugin, CniVersion, Context, DelRequest, Dispatcher, Error,
    ErrorCode, GcRequest, Plugin, Result, StatusRequest, types::VersionedResult,
};

/// The result of a good ADD.
const RESULT: &str = r#"{
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "eth0", "mac": "00:11:22:33:44:55", "mtu": 1450, "sandbox": "/run/netns/x"}],
    "ips": [
        {"interface": 0, "address": "10.1.0.5/16", "gateway": "10.1.0.1"},
        {"interface": 0, "address": "2001:db8:1::5/64"}
    ],
    "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400}, {"dst": "2001:db8:9::/48", "table": 100}],
    "dns": {"nameservers": ["10.1.0.1"], "domain": "example.org"}
}"#;

fn main() -> ExitCode {
    cni_skel::run_with(|call| {
        let plugin = VecPlugin::for_call(&call);
        let dispatcher = Dispatcher::new(&plugin);
        match text(&call, "VEC_VERSIONS") {
            None => dispatcher.respond(call),
            Some(versions) => {
                let versions = versions.split(',').map(str::to_owned).collect::<Vec<_>>();
                let none = versions == [""];
                dispatcher.with_versions(if none { Vec::new() } else { versions }).respond(call)
            }
        }
    })
}

/// The plugin, for one call.
struct VecPlugin {
    outcome: String,
    without_handler: Vec<String>,
    /// What Go's handlers are given, by the names of the recorded line.
    given: Vec<(&'static str, String)>,
}

fn text(call: &Call, variable: &str) -> Option<String> {
    call.var(variable).map(|value| value.to_string_lossy().into_owned())
}

impl VecPlugin {
    fn for_call(call: &Call) -> Self {
        let variables = [
            ("containerID", "CNI_CONTAINERID"),
            ("netns", "CNI_NETNS"),
            ("ifName", "CNI_IFNAME"),
            ("args", "CNI_ARGS"),
            ("path", "CNI_PATH"),
            ("netnsOverride", "CNI_NETNS_OVERRIDE"),
        ];
        Self {
            outcome: text(call, "VEC_OUTCOME").unwrap_or_default(),
            without_handler: text(call, "VEC_NIL")
                .unwrap_or_default()
                .split(',')
                .map(str::to_owned)
                .collect(),
            given: variables
                .map(|(name, variable)| (name, text(call, variable).unwrap_or_default()))
                .to_vec(),
        }
    }

    /// What every handler does.
    fn handle(&self, handler: &str, context: &Context<Self>) -> Result<()> {
        if self.without_handler.iter().any(|command| command == handler) {
            return Ok(());
        }
        let mut line = serde_json::Map::new();
        line.insert("handler".to_owned(), handler.into());
        for (name, value) in &self.given {
            line.insert((*name).to_owned(), value.as_str().into());
        }
        line.insert("stdinLen".to_owned(), context.stdin().len().into());
        writeln!(std::io::stderr(), "{}", serde_json::Value::Object(line))?;
        self.outcome(context.version())
    }

    /// `ok`, `silent`, `err:N`, `errnd:N`, `errempty`, `errhtml`, `plain`, `plainempty`, `wrapped:N`, `joined`, `panic`,
    /// `exit:N`, `garbage`, `partial:N`, `okthenerr:N`, `stderr`.
    ///
    /// There is no success without a result here, so `silent`, and whatever else printed by itself, is followed by one.
    fn outcome(&self, version: CniVersion) -> Result<()> {
        let (what, number) = self.outcome.split_once(':').unwrap_or((&self.outcome, "0"));
        let number: u64 = number.parse()?;
        let code = ErrorCode::new(number);
        match what {
            "err" => Err(Error::new(code, "vec msg").with_details("vec details")),
            "errnd" => Err(Error::new(code, "vec msg")),
            "errempty" => Err(Error::new(ErrorCode::new(0), "")),
            "errhtml" => {
                Err(Error::new(ErrorCode::new(100), "a<b>&c\"d\\\u{2028}é\u{1}").with_details("tab\tnl\nend"))
            }
            "plain" => Err(Error::message("boom plain")),
            "plainempty" => Err(Error::message("")),
            "wrapped" => {
                Err(Error::new(code, "inner msg").with_details("inner details").context("outer context"))
            }
            "joined" => Error::all([
                Error::message("first"),
                Error::new(ErrorCode::new(101), "second"),
                Error::new(ErrorCode::new(102), "third"),
            ])
            .map_or(Ok(()), Err),
            "panic" => panic!("vec panic"),
            #[allow(clippy::exit, reason = "this is the handler that does what it should not")]
            "exit" => std::process::exit(i32::try_from(number)?),
            "garbage" => {
                Ok(write!(std::io::stdout(), "this is not json").and_then(|()| std::io::stdout().flush())?)
            }
            "partial" => {
                write!(std::io::stdout(), "{{\"cniVersion\":")?;
                std::io::stdout().flush()?;
                Err(Error::new(code, "after half a result"))
            }
            "okthenerr" => {
                let result = VersionedResult::new(result()?, CniVersion::V1_0_0)?;
                write!(std::io::stdout(), "{}", result.to_json())?;
                std::io::stdout().flush()?;
                Err(Error::new(code, "after a full result"))
            }
            "stderr" => Ok(writeln!(std::io::stderr(), "some log line")?),
            "" | "ok" | "silent" => Ok(()),
            other => Err(Error::message(format!("unknown VEC_OUTCOME {other:?} in version {version}"))),
        }
    }
}

fn result() -> Result<AddResult> {
    Ok(VersionedResult::decode(RESULT.as_bytes())?.into_add_result())
}

impl CniPlugin for VecPlugin {
    type Config = ();
    type Runtime = ();
    type Args = ();

    const NAME: &'static str = "vec";
    const ABOUT: &'static str = "does what the environment says";
}

impl Plugin for VecPlugin {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        self.handle("ADD", req)?;
        match self.outcome.as_str() {
            "" | "ok" => result(),
            _ => Ok(AddResult::default()),
        }
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        self.handle("DEL", req)
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        self.handle("CHECK", req)
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        self.handle("STATUS", req)
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        self.handle("GC", req)
    }
}
