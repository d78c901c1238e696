//! The dispatcher with any environment and any stdin: one answer, in the right version, with a code if it is an error.
//!
//! The input is the environment as the kernel has it, `NAME=value` and a NUL each, then another NUL, then stdin.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use cni_invoke::Exit;
use cni_invoke::testing::{Reply, ScriptedExec};
use cni_skel::capability::{Bandwidth, PortMapping, RequestedIp};
use cni_skel::{
    AddRequest, AddResult, Answer, Call, CheckRequest, CniArgs, CniPlugin, DelRequest, Dispatcher, GcRequest,
    Plugin, Result, RuntimeConfig, StatusRequest,
};
use cni_types::config::declared_version;
use cni_types::{CniVersion, ErrorCode, VersionedResult};

/// Splits bytes into environment and stdin and calls a plugin with them.
pub fn check(bytes: &[u8]) {
    let (env, stdin) = match bytes.windows(2).position(|two| two == [0, 0]) {
        Some(at) => (&bytes[..at], &bytes[at + 2..]),
        None => (bytes, &b""[..]),
    };
    let pairs = env.split(|byte| *byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        Some((OsStr::from_bytes(&pair[..at]), OsStr::from_bytes(&pair[at + 1..])))
    });
    // A delegate answers with whatever the plugin was sent, so that its answers are made up, too.
    let delegates = ScriptedExec::new().otherwise(|call| match call.config().get("reply") {
        Some(reply) => call.reply(reply),
        None => Reply::raw(Exit::SUCCESS, call.stdin()),
    });
    let call = Call::new(pairs, stdin).with_exec(Arc::new(delegates));
    let is_by_hand = call.var("CNI_COMMAND").is_none_or(OsStr::is_empty);
    let reply = Dispatcher::new(&Sample).respond(call);

    let is_error = matches!(reply.answer, Answer::Error(_));
    assert_eq!(reply.exit, u8::from(is_error), "the exit status says whether it is an error");
    match &reply.answer {
        Answer::About => assert!(is_by_hand),
        Answer::Done => assert!(reply.stdout.is_empty(), "nothing to say and said something"),
        Answer::Error(error) => {
            assert_ne!(error.code(), ErrorCode::new(0), "an error without a code");
            assert!(!error.msg.is_empty(), "an error without a message");
            assert!(error.cni_version.as_ref().is_some_and(|version| !version.is_empty()));
            assert!(!error.msg.contains("panicked"), "{error}");
        }
        Answer::Result(result) => {
            let asked = declared_version(stdin).expect("what was answered was read");
            let asked = asked.as_deref().unwrap_or_default().parse::<CniVersion>();
            assert_eq!(Ok(result.version()), asked, "the answer is in another version");
            assert_eq!(VersionedResult::decode(&reply.stdout).as_ref(), Ok(&**result));
        }
        Answer::Version(info) => assert!(!info.supported_versions.is_empty()),
        other => panic!("what is that: {other:?}"),
    }
    if !matches!(reply.answer, Answer::About | Answer::Done) {
        let document: std::result::Result<serde::de::IgnoredAny, _> = serde_json::from_slice(&reply.stdout);
        assert!(document.is_ok(), "stdout is no JSON document: {:?}", String::from_utf8_lossy(&reply.stdout));
    }
}

/// A plugin that reads whatever it can be given.
#[derive(Debug, CniPlugin)]
#[cni(name = "sample", config = Config, runtime = Runtime, args = Args)]
struct Sample;

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    mtu: Option<u16>,
    #[serde(default)]
    nested: Vec<Config>,
    #[serde(default)]
    any: serde_json::Value,
}

#[derive(Debug, RuntimeConfig)]
struct Runtime {
    port_mappings: Vec<PortMapping>,
    ips: Vec<RequestedIp>,
    bandwidth: Option<Bandwidth>,
    mac: Option<String>,
}

#[derive(Debug, CniArgs)]
struct Args {
    ip: Option<std::net::IpAddr>,
    #[cni(rename = "K8S_POD_NAME")]
    pod: Option<String>,
}

impl Config {
    /// Looks at every key, as deep as they go.
    fn weigh(&self) -> usize {
        let below: usize = self.nested.iter().map(Self::weigh).sum();
        below + usize::from(self.mtu.unwrap_or_default()) + self.any.to_string().len()
    }
}

#[cni_skel::plugin]
impl Plugin for Sample {
    fn add(&self, req: &AddRequest<Self>) -> Result<AddResult> {
        let _ = (req.config().weigh(), req.args().ip, &req.args().pod);
        let Runtime { port_mappings, ips, bandwidth, mac } = req.runtime();
        let _ = (port_mappings, ips, bandwidth, mac);
        let lease = match req.ipam() {
            Ok(ipam) => Some(ipam.add()?),
            Err(_) => None,
        };
        let mut result = req.result();
        let index = result.add_interface(req.interface());
        if let Some(lease) = lease {
            result.add_ips_on(index, lease.ips());
            lease.commit();
        }
        Ok(result)
    }

    fn del(&self, req: &DelRequest<Self>) -> Result<()> {
        req.config().weigh();
        req.ipam()?.del()
    }

    fn check(&self, req: &CheckRequest<Self>) -> Result<()> {
        let _ = req.prev_result().validate();
        req.ipam()?.check()
    }

    fn status(&self, req: &StatusRequest<Self>) -> Result<()> {
        req.ipam()?.status()
    }

    fn gc(&self, req: &GcRequest<Self>) -> Result<()> {
        assert!(req.valid_attachments().iter().all(|valid| !valid.container_id().is_empty()));
        req.ipam()?.gc()
    }
}
