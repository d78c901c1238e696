//! The calls of a kubelet that concern a pod's network: the part of the gRPC service
//! `runtime.v1.RuntimeService` that leads to ADD, DEL and STATUS. The messages declare the fields that the
//! tests use, by the numbers of
//! <https://github.com/kubernetes/cri-api/blob/master/pkg/apis/runtime/v1/api.proto>.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};

/// No call takes longer: stopping a pod waits for its process, which is killed.
const LIMIT: Duration = Duration::from_secs(60);

/// A connection to a CRI service. Its calls block.
#[derive(Debug)]
pub(super) struct CriClient {
    executor: tokio::runtime::Runtime,
    channel: Channel,
}

impl CriClient {
    pub(super) fn connect(socket: &Path) -> Self {
        let executor =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio starts");
        let endpoint =
            Endpoint::from_shared(format!("unix://{}", socket.display())).expect("a path is a URI");
        let channel = executor.block_on(endpoint.timeout(LIMIT).connect()).expect("the service listens");
        Self { executor, channel }
    }

    /// Starts pods, all at once, and gives the ID of each, in the order of `configs`. The network of a pod that fails
    /// is torn down by the service.
    pub(super) fn run_pods(&self, configs: Vec<PodSandboxConfig>) -> Vec<Result<String, String>> {
        let requests = configs.into_iter().map(|config| RunPodSandboxRequest { config: Some(config) });
        let calls: Vec<_> = requests
            .map(|request| self.executor.spawn(call(self.channel.clone(), "RunPodSandbox", request)))
            .collect();
        let answers =
            calls.into_iter().map(|call| self.executor.block_on(call).expect("a call does not panic"));
        answers.map(|answer| answer.map(|response: RunPodSandboxResponse| response.pod_sandbox_id)).collect()
    }

    pub(super) fn stop_pod(&self, id: &str) -> Result<(), String> {
        self.call::<_, Empty>("StopPodSandbox", PodId { pod_sandbox_id: id.to_owned() }).map(drop)
    }

    pub(super) fn remove_pod(&self, id: &str) -> Result<(), String> {
        self.call::<_, Empty>("RemovePodSandbox", PodId { pod_sandbox_id: id.to_owned() }).map(drop)
    }

    pub(super) fn pod_status(&self, id: &str) -> Result<PodSandboxStatusResponse, String> {
        self.call(
            "PodSandboxStatus",
            PodSandboxStatusRequest { pod_sandbox_id: id.to_owned(), verbose: true },
        )
    }

    pub(super) fn conditions(&self) -> Result<Vec<Condition>, String> {
        let response: StatusResponse = self.call("Status", Empty {})?;
        Ok(response.status.unwrap_or_default().conditions)
    }

    fn call<Q, A>(&self, method: &'static str, request: Q) -> Result<A, String>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        self.executor.block_on(call(self.channel.clone(), method, request))
    }
}

async fn call<Q, A>(channel: Channel, method: &'static str, request: Q) -> Result<A, String>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let path = format!("/runtime.v1.RuntimeService/{method}");
    let path = PathAndQuery::try_from(path).expect("method names are plain");
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(|e| format!("{method}: {e}"))?;
    let codec = tonic_prost::ProstCodec::<Q, A>::default();
    let response = grpc.unary(tonic::Request::new(request), path, codec).await;
    response.map(tonic::Response::into_inner).map_err(|status| format!("{method}: {}", status.message()))
}

#[derive(Clone, PartialEq, prost::Message)]
struct Empty {}

#[derive(Clone, PartialEq, prost::Message)]
struct PodId {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PodSandboxMetadata {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) uid: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PortMapping {
    /// 0 is TCP.
    #[prost(int32, tag = "1")]
    pub(super) protocol: i32,
    #[prost(int32, tag = "2")]
    pub(super) container_port: i32,
    #[prost(int32, tag = "3")]
    pub(super) host_port: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PodSandboxConfig {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<PodSandboxMetadata>,
    #[prost(string, tag = "2")]
    pub(super) hostname: String,
    #[prost(string, tag = "3")]
    pub(super) log_directory: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) port_mappings: Vec<PortMapping>,
    #[prost(message, optional, tag = "8")]
    pub(super) linux: Option<LinuxPodSandboxConfig>,
}

/// Has to be there; the tests set nothing in it.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LinuxPodSandboxConfig {}

#[derive(Clone, PartialEq, prost::Message)]
struct RunPodSandboxRequest {
    #[prost(message, optional, tag = "1")]
    config: Option<PodSandboxConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RunPodSandboxResponse {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PodSandboxStatusRequest {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
    #[prost(bool, tag = "2")]
    verbose: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PodSandboxStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<PodSandboxStatus>,
    /// With `verbose`: what the service knows beyond the interface, as JSON under the key `info`.
    #[prost(map = "string, string", tag = "2")]
    pub(super) info: HashMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PodSandboxStatus {
    #[prost(message, optional, tag = "5")]
    pub(super) network: Option<PodSandboxNetworkStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PodSandboxNetworkStatus {
    #[prost(string, tag = "1")]
    pub(super) ip: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) additional_ips: Vec<PodIp>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PodIp {
    #[prost(string, tag = "1")]
    pub(super) ip: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<RuntimeStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RuntimeStatus {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<Condition>,
}

/// One condition of the service: `RuntimeReady` or `NetworkReady`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Condition {
    /// The condition's name.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// Whether it holds.
    #[prost(bool, tag = "2")]
    pub holds: bool,
    /// Why it does not hold, for programs.
    #[prost(string, tag = "3")]
    pub reason: String,
    /// Why it does not hold, for people.
    #[prost(string, tag = "4")]
    pub message: String,
}
