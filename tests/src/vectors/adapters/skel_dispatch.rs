//! `skel_dispatch`: a real plugin, run as a process under an empty environment.
//!
//! In the common form: `ok.reply` is the document on stdout, `error` the error object (with `exit` unless it is 1).
//! Effects: `handler` (what the called handler was given), `stderr` (what else stands there), and `stray` (what stands on
//! stdout beside the reply).

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::vectors::{
    case::Case,
    json::Json,
    run::{Adapter, Answer},
};

/// Runs the plugin at this path.
#[derive(Debug)]
pub struct SkelDispatch {
    /// The binary `vec-plugin`.
    pub plugin: PathBuf,
}

impl Adapter for SkelDispatch {
    fn expected(&self, _: &Case, expect: &Json) -> Json {
        let text = |key: &str| expect.field(key).and_then(Json::as_str).unwrap_or_default();
        let go = match expect.field("panic") {
            Some(panic) => Json::object([("panic", panic.clone())]),
            None => {
                let exit = expect.field("exit").map_or_else(String::new, ToString::to_string);
                reply(text("stdout"), &exit)
            }
        };
        with_stderr(go, text("stderr"))
    }

    fn answer(&self, case: &Case) -> Answer {
        if env(case, "VEC_OUTCOME") == Some("typednil") {
            return Answer::NoCounterpart("there is no typed nil".to_owned());
        }
        let (command, nil) = (env(case, "CNI_COMMAND"), env(case, "VEC_NIL"));
        if let Some(command @ ("ADD" | "DEL")) = command
            && nil.is_some_and(|nil| nil.split(',').any(|without| without == command))
        {
            return Answer::NoCounterpart(format!("{command} cannot be without a handler"));
        }
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("cannot make a directory: {error}"));
        let tmp = folder.path().to_string_lossy().into_owned();
        let case = case.clone().with_placeholder("TMP", &tmp);
        let output = match self.run(&case, folder.path()) {
            Ok(output) => output,
            Err(why) => return Answer::Skipped(why),
        };
        let exit = output.status.code().map_or_else(|| output.status.to_string(), |code| code.to_string());
        let ours = reply(&String::from_utf8_lossy(&output.stdout), &exit);
        let ours = with_stderr(ours, &String::from_utf8_lossy(&output.stderr));
        // Back to how the expectation has it.
        Answer::Given(ours.map_strings(&|text| text.replace(&tmp, "${TMP}")))
    }

    fn source(&self, case: &Case) -> Option<Json> {
        Json::parse_last_wins(case.text("stdin")?).ok()
    }
}

fn env<'c>(case: &'c Case, name: &str) -> Option<&'c str> {
    case.input.field("env")?.field(name)?.as_str()
}

/// A reply in the common form.
fn reply(stdout: &str, exit: &str) -> Json {
    let (stray, docs) = match Json::parse_all(stdout) {
        Ok(docs) => (None, docs),
        // What a handler wrote may be no JSON and still be followed by the reply.
        Err(_) => stdout
            .char_indices()
            .filter(|(_, c)| *c == '{')
            .find_map(|(at, _)| Some((Some(stdout[..at].to_owned()), Json::parse_all(&stdout[at..]).ok()?)))
            .unwrap_or_else(|| (Some(stdout.to_owned()), Vec::new())),
    };
    let mut docs = docs;
    let last = docs.pop();
    let mut fields = if exit == "0" {
        vec![("ok".to_owned(), Json::object([("reply", last.unwrap_or(Json::Null))]))]
    } else {
        vec![("error".to_owned(), error(last, exit))]
    };
    if let Some(text) = stray {
        fields.push(("stray".to_owned(), Json::string(text)));
    } else if !docs.is_empty() {
        fields.push(("stray".to_owned(), Json::Array(docs)));
    }
    Json::Object(fields)
}

fn error(object: Option<Json>, exit: &str) -> Json {
    let object = object.unwrap_or(Json::Object(Vec::new()));
    let mut fields: Vec<(String, Json)> = object
        .as_object()
        .unwrap_or_default()
        .iter()
        .map(|(key, value)| (if key == "msg" { "text".to_owned() } else { key.clone() }, value.clone()))
        .collect();
    if exit != "1" {
        fields.push(("exit".to_owned(), Json::number(exit)));
    }
    Json::Object(fields)
}

/// Adds what stands on stderr: the handler's line, and the rest.
fn with_stderr(reply: Json, stderr: &str) -> Json {
    let (mut handler, mut rest) = (Json::Null, String::new());
    for line in stderr.split_inclusive('\n') {
        match Json::parse(line) {
            Ok(call) if call.field("handler").is_some() => handler = call,
            _ => rest.push_str(line),
        }
    }
    let Json::Object(mut fields) = reply else { return reply };
    fields.push(("handler".to_owned(), handler));
    fields.push(("stderr".to_owned(), Json::string(rest)));
    Json::Object(fields)
}

impl SkelDispatch {
    /// Runs the plugin in the case's directory, with the fixtures that the format promises.
    fn run(&self, case: &Case, tmp: &Path) -> Result<Output, String> {
        let variables: Vec<(String, String)> = case
            .input
            .field("env")
            .and_then(Json::as_object)
            .unwrap_or_default()
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        let fixtures = std::fs::write(tmp.join("regular"), "")
            .and_then(|()| std::fs::create_dir(tmp.join("dir")))
            .and_then(|()| symlink("/proc/self/ns/net", tmp.join("link-self")))
            .and_then(|()| symlink(tmp.join("nowhere"), tmp.join("link-dangling")));
        fixtures.map_err(|error| format!("cannot make the fixtures: {error}"))?;

        let mounted =
            variables.iter().any(|(_, value)| value.contains("own-netns") || value.contains("other-netns"));
        let mut command =
            if mounted { self.among_mounts(&variables, tmp)? } else { Command::new(&self.plugin) };
        if !mounted {
            command.env_clear().envs(variables);
        }
        let mut child = command
            .current_dir(tmp)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", self.plugin.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A plugin that refuses a call before reading leaves a broken pipe; that is its right.
            let _ = stdin.write_all(&case.bytes("stdin").unwrap_or_default());
        }
        child.wait_with_output().map_err(|error| format!("cannot wait for the plugin: {error}"))
    }

    /// The plugin in a network and a mount namespace of its own, where `own-netns` and `other-netns` can be mounted.
    fn among_mounts(&self, variables: &[(String, String)], tmp: &Path) -> Result<Command, String> {
        const MOUNT: &str = r#"
            touch "$1/own-netns" "$1/other-netns"
            mount --bind /proc/self/ns/net "$1/own-netns"
            unshare --net mount --bind /proc/self/ns/net "$1/other-netns"
            shift
            exec env -i "$@""#;
        let mut command = unshare().ok_or("cannot unshare mount and network namespaces here")?;
        command.args(["sh", "-ec", MOUNT, "sh"]).arg(tmp);
        command.args(variables.iter().map(|(name, value)| format!("{name}={value}"))).arg(&self.plugin);
        Ok(command)
    }
}

/// `unshare` with the options that work here, if any do: as root, or else in a user namespace.
fn unshare() -> Option<Command> {
    static OPTIONS: OnceLock<Option<&'static [&'static str]>> = OnceLock::new();
    const ROOT: &[&str] = &["--mount", "--net", "--propagation", "private"];
    const USER: &[&str] = &["--user", "--map-root-user", "--mount", "--net", "--propagation", "private"];
    let with = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options);
        command
    };
    let works = |options: &&[&str]| {
        let status = with(options).arg("true").stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    OPTIONS.get_or_init(|| [ROOT, USER].into_iter().find(works)).map(with)
}
