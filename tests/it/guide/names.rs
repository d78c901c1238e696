//! The tables of the porting guide: every exported name of Go's packages is in them, and every name of ours is there.
//!
//! Ours are held by the compiler: what the tables name stands below as a path that resolves, or as a declaration of the
//! plugin below. A name in the tables that is neither fails the test.

use std::collections::BTreeSet;

use cni_skel::testing::{Invocation, Outcome};
use cni_skel::types::VersionedResult;
use cni_skel::types::config::{Attachment, NetworkList, PluginConfig};
use cni_skel::types::{
    ContainerId, IncompatibleVersion, InterfaceName, NetworkName, PluginInfo, VersionNumber,
};
use cni_skel::{
    AddRequest, AddResult, ArgValue, CheckRequest, Cidr, CniArgs, CniError, CniPlugin, CniVersion,
    DelRequest, Delegate, Dispatcher, Dns, Error, ErrorCode, ErrorObject, GcRequest, Interface, IpConfig,
    Lease, MacAddr, Netns, Plugin, Reply, ResultExt, Route, RuntimeConfig, StatusRequest, run,
};

use super::read;

/// The exported names of Go's packages, without methods that only print, copy or (un)marshal.
const GO: &[(&str, &str)] = &[
    (
        "skel",
        "CmdArgs ContainerID Netns IfName Args Path NetnsOverride StdinData CNIFuncs Add Del Check GC Status \
              PluginMain PluginMainWithError PluginMainFuncs PluginMainFuncsWithError",
    ),
    (
        "types",
        "IPNet ParseCIDR NetConf PluginConf CNIVersion Name Type Capabilities IPAM DNS RawPrevResult PrevResult \
               ValidAttachments GCAttachment IsEmpty NetConfList Result Version GetAsVersion Print PrintTo PrintResult \
               Nameservers Domain Search Options Route Dst GW MTU AdvMSS Priority Table Scope Error Code Msg Details \
               NewError ErrUnknown ErrIncompatibleCNIVersion ErrUnsupportedField ErrUnknownContainer \
               ErrInvalidEnvironmentVariables ErrIOFailure ErrDecodingFailure ErrInvalidNetworkConfig ErrInvalidNetNS \
               ErrTryAgainLater ErrPluginNotAvailable ErrLimitedConnectivity ErrInternal UnmarshallableBool \
               UnmarshallableString CommonArgs IgnoreUnknown GetKeyField UnmarshalableArgsError LoadArgs Copy String \
               MarshalJSON UnmarshalJSON",
    ),
    (
        "types/100, 040, 020, current",
        "ImplementedSpecVersion NewResult GetResult NewResultFromResult Interfaces IPs Routes \
               Interface Mac Mtu Sandbox SocketPath PciID Int IPConfig Address Gateway IP4 IP6 IP SupportedVersions",
    ),
    ("types/create", "DecodeVersion Create CreateFromBytes"),
    (
        "version",
        "ConfigDecoder PluginInfo Encode PluginSupports PluginDecoder ParseVersion GreaterThan \
                 GreaterThanOrEqualTo ErrorIncompatible Reconciler CheckRaw Current Legacy All VersionsStartingFrom \
                 ParsePrevResult",
    ),
    (
        "invoke",
        "CNIArgs AsEnv ArgsFromEnv NetNS PluginArgs DelegateArgs DelegateAdd DelegateDel DelegateCheck DelegateGC \
                DelegateStatus Exec ExecPlugin FindInPath Decode ExecPluginWithResult ExecPluginWithoutResult \
                GetVersionInfo DefaultExec RawExec Stderr ExecutableFileExtensions",
    ),
    (
        "ns",
        "GetCurrentNS Do Set Fd Close NSFS_MAGIC PROCFS_MAGIC NSPathNotExistErr NSPathNotNSErr IsNSorErr GetNS \
            WithNetNSPath CheckNetNS",
    ),
    (
        "ipam",
        "ExecAdd ExecCheck ExecDel ExecStatus ConfigureIface DisableIPv6SysctlTemplate KeepAddrOnDownSysctlTemplate",
    ),
    ("utils", "ValidateContainerID ValidateNetworkName ValidateInterfaceName"),
];

/// Keys of `#[cni(…)]`: what this plugin declares compiles.
const KEYS: &[&str] = &[
    "cni",
    "about",
    "args",
    "config",
    "deny_unknown_keys",
    "errors",
    "ignore_unknown",
    "name",
    "runtime",
    "version",
    "versions",
];

#[derive(serde::Deserialize)]
struct Config {}

#[derive(RuntimeConfig)]
struct Runtime {
    mac: Option<String>,
}

#[derive(CniArgs)]
#[cni(ignore_unknown)]
struct Args {
    k8s_pod_name: String,
}

#[derive(Debug, CniError)]
#[cni(code = 100)]
struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

impl std::error::Error for Failed {}

#[derive(CniPlugin)]
#[cni(name = "sample", about = "stands for any plugin", version = "1.0.0", versions = "0.4.0..", config = Config)]
#[cni(runtime = Runtime, args = Args, errors(Failed), deny_unknown_keys)]
struct Sample;

#[cni_skel::plugin]
impl Plugin for Sample {
    fn add(&self, req: &AddRequest<Self>) -> cni_skel::Result<AddResult> {
        let _ = (&req.runtime().mac, &req.args().k8s_pod_name);
        Ok(req.result())
    }

    fn del(&self, _: &DelRequest<Self>) -> cni_skel::Result<()> {
        Err(Failed)?
    }
}

/// The segments of paths that the compiler has resolved.
macro_rules! names {
    (types: [$($type:ty,)*] values: [$($value:expr,)*]) => {{
        $(let _ = std::mem::size_of::<$type>();)*
        $(let _ = $value;)*
        [$(stringify!($type),)* $(stringify!($value),)*]
    }};
}

/// Every word of ours that the tables may use.
fn ours() -> BTreeSet<String> {
    let paths = names! {
        types: [
            AddRequest<Sample>, AddResult, Attachment, CheckRequest<Sample>, Cidr, ContainerId, CniVersion, Delegate,
            DelRequest<Sample>, Dispatcher<'static, Sample>, Dns, Error, ErrorCode, ErrorObject, std::process::ExitCode,
            GcRequest<Sample>, IncompatibleVersion, Interface, InterfaceName, cni_skel::testing::Invocation, IpConfig, Lease, MacAddr, Netns,
            NetworkList, NetworkName, Outcome, PluginConfig, PluginInfo, Reply, Route, StatusRequest<Sample>,
            VersionedResult, VersionNumber, cni_skel::types::CniArgs, cni_skel::types::result::v020::Result,
            cni_skel::types::result::v040::Result, std::io::Error, bool, String, Option<u32>,
        ]
        values: [
            run::<Sample>, cni_skel::describe::<Sample>, Dispatcher::<Sample>::new, Dispatcher::<Sample>::respond,
            <Sample as Plugin>::add, <Sample as Plugin>::del, <Sample as Plugin>::check, <Sample as Plugin>::gc,
            <Sample as Plugin>::status, <Sample as CniPlugin>::coded, <Args as CniArgs>::KEYS, <bool as ArgValue>::from_value,
            <Runtime as RuntimeConfig>::CAPABILITIES, |result: cni_skel::Result<()>| ResultExt::context(result, "x"),
            |result: cni_skel::Result<()>| ResultExt::with_context(result, || "x"),
            AddRequest::<Sample>::container_id, AddRequest::<Sample>::ifname, AddRequest::<Sample>::netns,
            AddRequest::<Sample>::args, AddRequest::<Sample>::prev_result, AddRequest::<Sample>::result,
            AddRequest::<Sample>::interface, GcRequest::<Sample>::valid_attachments, cni_skel::Context::<Sample>::network,
            cni_skel::Context::<Sample>::version, cni_skel::Context::<Sample>::config, cni_skel::Context::<Sample>::runtime,
            cni_skel::Context::<Sample>::network_config, cni_skel::Context::<Sample>::stdin,
            cni_skel::Context::<Sample>::ipam, cni_skel::Context::<Sample>::wants_ipam,
            cni_skel::Context::<Sample>::delegate, PluginConfig::version, PluginConfig::ipam_type,
            |config: PluginConfig| (config.plugin_type, config.dns), Delegate::add, Delegate::del, Delegate::check,
            Delegate::gc, Delegate::status, |delegate: Delegate| delegate.with_config("{}"), Delegate::with_timeout,
            |delegate: Delegate| delegate.with_var("CNI_IFNAME", "net1").also_in("/opt"), Lease::commit,
            AddResult::add_interface, AddResult::insert_interface, AddResult::remove_interface,
            |result: &mut AddResult| result.add_ips_on(0, []), Interface::with_mac, Interface::with_mtu,
            |interface: Interface| interface.in_sandbox("/run/netns/x").mac, Interface::new("eth0"), IpConfig::new,
            IpConfig::with_gateway, IpConfig::on, Route::new, Route::via, Dns::is_empty, Cidr::network, Cidr::contains,
            Cidr::address, Cidr::prefix, VersionedResult::version, VersionedResult::convert, VersionedResult::decode,
            VersionedResult::decode_with_default, VersionedResult::into_add_result, VersionedResult::as_v020,
            VersionedResult::as_v040, cni_skel::types::config::declared_version, cni_skel::types::reconcile::<String>,
            CniVersion::and_later, CniVersion::ALL, CniVersion::NEWEST, CniVersion::V0_4_0, PluginInfo::decode,
            PluginInfo::to_json, Error::new(ErrorCode::INTERNAL, "x").with_details("y"), Error::downcast_ref::<Failed>,
            ErrorObject::is_try_again, ErrorObject::needs_no_cleanup, ErrorCode::INCOMPATIBLE_CNI_VERSION,
            ErrorCode::UNSUPPORTED_FIELD, ErrorCode::UNKNOWN_CONTAINER, ErrorCode::INVALID_ENVIRONMENT,
            ErrorCode::IO_FAILURE, ErrorCode::DECODING_FAILURE, ErrorCode::INVALID_NETWORK_CONFIG, ErrorCode::INVALID_NETNS,
            ErrorCode::TRY_AGAIN, ErrorCode::PLUGIN_NOT_AVAILABLE, ErrorCode::LIMITED_CONNECTIVITY, ErrorCode::INTERNAL,
            |netns: Netns| netns.run(|| ()), Netns::path, ContainerId::new("c1"), InterfaceName::new("eth0"),
            NetworkName::new("n"), |call: Invocation| call.delegate("host-local", |call| call.reply(())),
            std::io::ErrorKind::NotFound, std::io::ErrorKind::InvalidInput,
        ]
    };
    let traits = ["Clone", "Debug", "Serialize", "Deserialize"];
    paths
        .iter()
        .flat_map(|path| words(path))
        .chain(KEYS.iter().chain(&traits).map(ToString::to_string))
        .collect()
}

/// What stands for a value in a snippet.
const VALUES: &[&str] = &[
    "MyPlugin",
    "address",
    "call",
    "code",
    "details",
    "dst",
    "examples",
    "for",
    "gw",
    "impl",
    "index",
    "inside",
    "k8s_pod_name",
    "mac",
    "msg",
    "mtu",
    "name",
    "path",
    "plugin",
    "plugin_type",
    "req",
    "attach",
];

/// The words of a text that can be names.
fn words(text: &str) -> Vec<String> {
    let word = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    word.filter(|word| word.starts_with(|first: char| first.is_alphabetic())).map(str::to_owned).collect()
}

/// The code in a cell.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The rows of the tables on the plugin's side.
fn rows(page: &str) -> Vec<Vec<String>> {
    let (plugins, _) = page.split_once("## The other side").unwrap();
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let rows = plugins.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    rows.map(cells).filter(|cells| cells[0] != "Go").collect()
}

#[test]
fn every_name_of_gos_packages_is_in_the_tables() {
    let page = read("docs/guide/porting.md");
    // Names of `invoke` that only runtimes use stand in the tables of the other side.
    let firsts =
        page.lines().filter(|line| line.starts_with("| ")).map(|line| line.split(" | ").next().unwrap());
    let named: BTreeSet<_> = firsts.flat_map(|cell| code(cell).flat_map(words).collect::<Vec<_>>()).collect();
    for (package, names) in GO {
        for name in names.split_whitespace() {
            assert!(named.contains(name), "{name} of {package} is not in the porting guide");
        }
    }
}

#[test]
fn every_name_of_ours_in_the_tables_is_there() {
    let ours = ours();
    let rows = rows(&read("docs/guide/porting.md"));
    assert!(rows.len() > 80, "{} rows", rows.len());
    let mut used = BTreeSet::new();
    for cells in rows {
        assert_eq!(cells.len(), 3, "{cells:?}");
        for word in code(&cells[1]).flat_map(words) {
            assert!(
                ours.contains(&word) || VALUES.contains(&word.as_str()),
                "{word:?} is no name of ours: {cells:?}"
            );
            used.insert(word);
        }
    }
    for word in ["Dispatcher", "prev_result", "TRY_AGAIN", "commit", "v020"] {
        assert!(used.contains(word), "{word} is in the tables");
    }
}
