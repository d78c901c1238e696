//! `libcni_exec`: the runtime's side over a fake way to run plugins: every call, stdin, environment, and the cache.
//!
//! Effects: `calls` in order, `cache` (the files below `results` as documents where they are such), `modes` of the files
//! written, `outside` (files that lie in the cache directory itself).

use std::sync::Arc;

use cni_invoke::{Environment, Parameters, Request, SearchPath};
use cni_types::config::Attachment;
use cni_types::{CniArgs, ContainerId, ErrorObject, ExtraKeys, InterfaceName, PluginType, VersionedResult};
use libcni::{CachedAttachment, Client, Error, Network, RuntimeConf, ValidationProblem};

use super::{error, ok};
use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

mod cache;
mod fake;

/// Runs the operation of a case.
#[derive(Debug)]
pub struct LibcniExec;

impl Adapter for LibcniExec {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        let mut go = if let Some(panic) = expect.field("panic") {
            Json::object([("panic", panic.clone())])
        } else if let Some(text) = expect.field("error") {
            let mut fields = vec![("text".to_owned(), text.clone())];
            for key in ["error_cni", "is_check_not_supported"] {
                fields.extend(expect.field(key).map(|value| (key.to_owned(), value.clone())));
            }
            Json::object([("error", Json::Object(fields))])
        } else {
            // The reference lists an environment in order; ours has none, so neither side does.
            let value =
                expect.field("ok").or_else(|| expect.field("ok_sorted")).cloned().unwrap_or(Json::Null);
            let mut fields = vec![("value", value)];
            fields.extend(expect.field("ok_version").map(|version| ("version", version.clone())));
            ok(fields)
        };
        if let Json::Object(fields) = &mut go {
            if let Some(calls) = expect.field("calls") {
                fields.push(("calls".to_owned(), fake::FakeExec::by_attachment(calls)));
            }
            if let Some(files) = expect.field("cache_after").filter(|files| **files != Json::Null) {
                fields.push(("cache".to_owned(), cache::as_documents(files)));
            }
            if let Some(outside) = expect.field("outside_after") {
                fields.push(("outside".to_owned(), cache::as_documents(outside)));
            }
            let written = expect.field("cache_written").and_then(Json::as_object).unwrap_or_default();
            let modes =
                written.iter().filter_map(|(name, file)| Some((name.clone(), file.field("mode")?.clone())));
            let modes: Vec<_> = modes.collect();
            if !modes.is_empty() {
                fields.push(("modes".to_owned(), Json::Object(modes)));
            }
        }
        go
    }

    fn answer(&self, case: &Case) -> Answer {
        if case.text("op") == Some("args_env") && case.input.at("args.command") == Some(&Json::string("")) {
            return Answer::NoCounterpart("a call always has a command".to_owned());
        }
        let exec = Arc::new(fake::FakeExec::new(case));
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("cannot make a directory: {error}"));
        let tmp = folder.path().to_string_lossy().into_owned();
        if let Err(error) = cache::make(case, folder.path()) {
            panic!("cannot make the cache: {error}");
        }
        let strings = |key: &str| {
            let items = case.input.field(key).and_then(Json::as_array).unwrap_or_default();
            items.iter().filter_map(Json::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let client = Client::builder()
            .plugin_dirs(strings("plugin_dirs"))
            .cache_dir(folder.path())
            .exec(exec.clone())
            .environment(Environment::new())
            // The reference works through the attachments one by one.
            .parallelism(std::num::NonZeroUsize::MIN)
            .build();
        let mut ours = operate(case, &client, &exec).unwrap_or_else(|failure| failure);
        if let Json::Object(fields) = &mut ours {
            if case.expect.field("calls").is_some() {
                fields.push(("calls".to_owned(), fake::FakeExec::by_attachment(&exec.calls())));
            }
            if case.expect.field("cache_after").is_some_and(|files| *files != Json::Null) {
                fields.push(("cache".to_owned(), cache::files(&folder.path().join("results"))));
            }
            if case.expect.field("outside_after").is_some() {
                fields.push(("outside".to_owned(), cache::top_files(folder.path())));
            }
            if let Some(Json::Object(written)) = case.expect.field("cache_written") {
                let results = folder.path().join("results");
                let modes = written
                    .iter()
                    .filter_map(|(name, _)| Some((name.clone(), cache::mode(&results.join(name))?)));
                fields.push(("modes".to_owned(), Json::Object(modes.collect())));
            }
        }
        Answer::Given(ours.map_strings(&|text| text.replace(&tmp, "${TMP}")))
    }

    fn source(&self, case: &Case) -> Option<Json> {
        let document = |text: &str| Json::parse_tolerantly(text).ok();
        let mut parts: Vec<Json> = case.text("conf").and_then(document).into_iter().collect();
        for key in ["cache_before", "replies"] {
            for (_, value) in case.input.field(key).and_then(Json::as_object).unwrap_or_default() {
                let text = value.as_str().or_else(|| value.field("stdout")?.as_str());
                parts.extend(text.and_then(document));
            }
        }
        parts.extend(case.input.field("rt").cloned());
        Some(Json::Array(parts))
    }
}

/// Our answer to a case, without the effects; an error is one in the common form.
fn operate(case: &Case, client: &Client, exec: &Arc<fake::FakeExec>) -> Result<Json, Json> {
    let op = case.text("op").unwrap_or_default();
    match op {
        "args_env" | "delegate_env" | "delegate" => return delegate(case, op, exec),
        "attachments" => {
            let id = case.text("container_id").filter(|id| !id.is_empty());
            let found = client.attachments(id).map_err(|why| told(&why))?;
            return Ok(ok([("value", Json::Array(found.iter().map(attachment).collect()))]));
        }
        "version" => {
            let plugin =
                PluginType::new(case.text("plugin").unwrap_or_default()).map_err(|why| told(&why))?;
            let info = client.version_info(&plugin).map_err(|why| not_answered(&why))?;
            let versions = info.supported_versions.iter().map(Json::string).collect();
            return Ok(ok([("value", Json::Array(versions))]));
        }
        _ => {}
    }
    let conf = case.bytes("conf").unwrap_or_default();
    let network = if op.ends_with("_one") { Network::from_plugin(&conf) } else { Network::from_list(&conf) };
    let network = network.map_err(|problems| {
        let text: Vec<_> = problems.iter().map(ToString::to_string).collect();
        bare(text.join("; "))
    })?;
    let done = || ok([("value", Json::Bool(true))]);
    match op {
        "gc" => {
            let valid = valid_attachments(case);
            return client.gc(&network, &valid).map(|_| done()).map_err(|why| failed(&why));
        }
        "status" => return client.status(&network).map(|()| done()).map_err(|why| failed(&why)),
        "validate" => return validate(client, &network),
        _ => {}
    }
    let rt = runtime_conf(case)?;
    match op {
        "add" | "add_one" => {
            client.add(&network, &rt).map(|result| printed(&result)).map_err(|why| failed(&why))
        }
        "check" | "check_one" => client.check(&network, &rt).map(|()| done()).map_err(|why| failed(&why)),
        "del" | "del_one" => client.del(&network, &rt).map(|()| done()).map_err(|why| failed(&why)),
        "cached_result" => match client.cached_result(&network, &rt).map_err(|why| told(&why))? {
            None => Ok(ok([("value", Json::Null)])),
            Some(result) => Ok(printed(&result)),
        },
        "cached_config" => {
            let found = client.cached_attachment(&network, &rt).map_err(|why| told(&why))?;
            let config = found.as_ref().map(|found| String::from_utf8_lossy(found.config()).into_owned());
            let value = Json::object([
                ("config", Json::string(config.clone().unwrap_or_default())),
                ("config_present", Json::Bool(config.is_some_and(|config| !config.is_empty()))),
                ("rt", found.as_ref().map_or(Json::Null, cached_rt)),
            ]);
            Ok(ok([("value", value)]))
        }
        other => panic!("unknown operation {other:?}"),
    }
}

fn bare(text: impl std::fmt::Display) -> Json {
    error(text, Vec::<(String, Json)>::new())
}

/// An error with its causes.
fn told(why: &dyn std::error::Error) -> Json {
    bare(with_causes(why))
}

fn with_causes(why: &dyn std::error::Error) -> String {
    let mut text = why.to_string();
    let mut cause = why.source();
    while let Some(why) = cause {
        text = format!("{text}: {why}");
        cause = why.source();
    }
    text
}

/// A failed call of one plugin, with its error object where there is one.
fn not_answered(why: &cni_invoke::Error) -> Json {
    error(with_causes(why), why.object().map(|object| ("error_cni".to_owned(), object_of(object))))
}

/// A failed operation, with the plugin's error object where there is one.
fn failed(why: &Error) -> Json {
    let mut fields = Vec::new();
    if let Some(object) = why.error_object() {
        fields.push(("error_cni".to_owned(), object_of(object)));
    }
    if matches!(why, Error::CheckNotSupported { .. }) {
        fields.push(("is_check_not_supported".to_owned(), Json::Bool(true)));
    }
    error(ErrorObject::from(why).msg, fields)
}

fn object_of(object: &ErrorObject) -> Json {
    let mut fields = vec![("code", Json::number(object.code())), ("msg", Json::string(&object.msg))];
    if !object.details.is_empty() {
        fields.push(("details", Json::string(&object.details)));
    }
    Json::object(fields)
}

fn printed(result: &VersionedResult) -> Json {
    let text = result.to_json();
    let value = Json::parse_tolerantly(&text).unwrap_or_else(|why| panic!("printed no JSON: {why}: {text}"));
    ok([("value", value), ("version", Json::string(result.version().as_str()))])
}

fn valid_attachments(case: &Case) -> Vec<Attachment> {
    let items = case.input.field("valid_attachments").and_then(Json::as_array).unwrap_or_default();
    let text = |item: &Json, key: &str| item.field(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    items.iter().map(|item| Attachment::new(text(item, "containerID"), text(item, "ifname"))).collect()
}

fn runtime_conf(case: &Case) -> Result<RuntimeConf, Json> {
    let rt = case.input.field("rt").cloned().unwrap_or(Json::Null);
    let text = |key: &str| rt.field(key).and_then(Json::as_str).unwrap_or_default();
    let mut conf = RuntimeConf::new(text("containerID"), text("ifname"))
        .map_err(|why| told(&why))?
        .with_netns(text("netns"));
    for (key, value) in pairs(rt.field("args")) {
        conf = conf.with_arg(&key, &value).map_err(|why| told(&why))?;
    }
    Ok(match rt.field("capability_args") {
        Some(args @ Json::Object(_)) => conf.with_capability_args(extra_keys(args)),
        _ => conf,
    })
}

/// A list of pairs.
fn pairs(list: Option<&Json>) -> Vec<(String, String)> {
    let pair = |item: &Json| match item.as_array() {
        Some([key, value]) => Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())),
        _ => None,
    };
    list.and_then(Json::as_array).unwrap_or_default().iter().filter_map(pair).collect()
}

fn extra_keys(object: &Json) -> ExtraKeys {
    serde_json::from_str(&object.to_string()).unwrap_or_else(|why| panic!("not an object: {why}: {object}"))
}

fn args_of(args: &[(String, String)]) -> Json {
    if args.is_empty() {
        return Json::Null;
    }
    let pair = |(key, value): &(String, String)| Json::Array(vec![Json::string(key), Json::string(value)]);
    Json::Array(args.iter().map(pair).collect())
}

fn capabilities_of(args: &ExtraKeys) -> Json {
    if args.is_empty() {
        return Json::Null;
    }
    let text = serde_json::to_string(args).unwrap_or_default();
    Json::parse_tolerantly(&text).unwrap_or(Json::Null)
}

fn attachment(found: &CachedAttachment) -> Json {
    Json::object([
        ("containerID", Json::string(found.container_id())),
        ("ifname", Json::string(found.ifname())),
        ("network", Json::string(found.network_name())),
        ("netns", Json::string(found.netns().unwrap_or_default())),
        ("config", Json::string(String::from_utf8_lossy(found.config()))),
        ("args", args_of(found.args())),
        ("capability_args", capabilities_of(found.capability_args())),
    ])
}

fn cached_rt(found: &CachedAttachment) -> Json {
    Json::object([
        ("containerID", Json::string(found.container_id())),
        ("ifname", Json::string(found.ifname())),
        ("netns", Json::string(found.netns().unwrap_or_default())),
        ("args", args_of(found.args())),
        ("capability_args", capabilities_of(found.capability_args())),
    ])
}

fn validate(client: &Client, network: &Network) -> Result<Json, Json> {
    let validation = client.validate(network);
    let problems = validation.problems();
    if problems.is_empty() {
        let capabilities = validation.capabilities.iter().map(Json::string).collect();
        return Ok(ok([("value", Json::Array(capabilities))]));
    }
    let text = |problem: &ValidationProblem<'_>| match problem {
        ValidationProblem::Plugin(error) => with_causes(error),
        ValidationProblem::Version(error) => error.to_string(),
        ValidationProblem::VersionOfPlugins { version, plugins, .. } => {
            let plugins: Vec<_> = plugins.iter().map(|(plugin, _)| plugin.as_str()).collect();
            format!("{} do not support {version}", plugins.join(", "))
        }
        other => format!("{other:?}"),
    };
    Err(bare(problems.iter().map(text).collect::<Vec<_>>().join("; ")))
}

/// Calls one plugin, as a plugin does that delegates; or tells the environment that it would be called with.
fn delegate(case: &Case, op: &str, exec: &Arc<fake::FakeExec>) -> Result<Json, Json> {
    let (command, environment) = match op {
        "delegate" => {
            let variables = case.input.field("parent_env").and_then(Json::as_object).unwrap_or_default();
            let variables =
                variables.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
            (case.text("command"), variables.collect())
        }
        _ => {
            let args = case.input.field("args").cloned().unwrap_or(Json::Null);
            let parent = case.input.field("parent").and_then(Json::as_array).unwrap_or_default();
            let parent: Environment =
                parent.iter().filter_map(|entry| entry.as_str()?.split_once('=')).collect();
            let environment = if op == "args_env" { parameters(&args)?.environment(parent) } else { parent };
            (case.input.at("args.command").and_then(Json::as_str), environment)
        }
    };
    let plugin = PluginType::new(case.text("plugin").unwrap_or("a")).map_err(|why| told(&why))?;
    let config = case.bytes("conf").unwrap_or_else(|| b"{}".to_vec());
    // For its environment alone a plugin need not be found where that says.
    let somewhere = SearchPath::new(["/bin"]);
    let mut request = Request::new(&plugin, &environment, &config);
    if op != "delegate" {
        request = request.search(&somewhere);
    }
    let exec: &fake::FakeExec = exec;
    let done = || ok([("value", Json::Bool(true))]);
    let answer = match command.unwrap_or_default() {
        "ADD" => cni_invoke::add(exec, &request).map(|result| printed(&result)),
        "CHECK" => cni_invoke::check(exec, &request).map(|()| done()),
        "DEL" => cni_invoke::del(exec, &request).map(|()| done()),
        "GC" => cni_invoke::gc(exec, &request).map(|()| done()),
        "STATUS" => cni_invoke::status(exec, &request).map(|()| done()),
        "VERSION" => cni_invoke::version(exec, &request).map(|_| done()),
        other => return Err(bare(format!("unknown command {other:?}"))),
    };
    if op != "delegate" {
        return Ok(ok([("value", exec.environment())]));
    }
    answer.map_err(|why| not_answered(&why))
}

fn parameters(args: &Json) -> Result<Parameters, Json> {
    let text = |key: &str| args.field(key).and_then(Json::as_str).filter(|text| !text.is_empty());
    let mut parameters = Parameters::default();
    if let Some(id) = text("containerID") {
        parameters.container_id = Some(ContainerId::new(id).map_err(|why| told(&why))?);
    }
    if let Some(name) = text("ifname") {
        parameters.ifname = Some(InterfaceName::new(name).map_err(|why| told(&why))?);
    }
    parameters.netns = text("netns").map(Into::into);
    parameters.search_path = SearchPath::parse(text("path").unwrap_or_default());
    // As in Go, the text wins over the pairs.
    if let Some(text) = text("plugin_args_str") {
        parameters.args = text.parse().map_err(|why| bare(format!("{why}")))?;
    } else {
        parameters.args = CniArgs::new();
        for (key, value) in pairs(args.field("plugin_args")) {
            parameters.args.push(&key, &value).map_err(|why| told(&why))?;
        }
    }
    Ok(parameters)
}
