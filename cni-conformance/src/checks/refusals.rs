//! What must be refused, and what must not: variables, stdin, keys of the configuration, versions.

use cni_types::{CniVersion, Command, env};
use serde_json::json;

use crate::catalog::{
    COMMAND_UNKNOWN, CONFIG_ARGS, CONFIG_NAME, CONFIG_UNKNOWN_KEY, CONFIG_VERSION, Check, ENV_CONTAINER_ID,
    ENV_ERROR_NAMES, ENV_IFNAME, ENV_OPTIONAL, ENV_REQUIRED, STDIN_DECODE,
};
use crate::exchange::{Answer, Exchange};
use crate::request::Request;
use crate::session::{Attachment, Session};

const UNKNOWN_KEY: &str = "conformanceUnknownKey";
const UNKNOWN_VALUE: &str = "conformance-unknown-value";

pub(crate) fn run(session: &Session<'_>, newest: CniVersion, possible: &[CniVersion]) {
    Refusals { session, newest }.run(possible);
}

struct Refusals<'s> {
    session: &'s Session<'s>,
    newest: CniVersion,
}

impl Refusals<'_> {
    fn run(&self, possible: &[CniVersion]) {
        // A good call of each command, so that nothing but what is changed can be the reason.
        let mut at = self.session.container(0);
        let is_added = self.session.add(self.newest, &mut at).succeeded();
        self.variables(&at);
        self.session.release(self.newest, &at);
        self.names();
        self.stdin();
        self.versions(possible);
        for check in [&ENV_OPTIONAL, &CONFIG_ARGS, &CONFIG_UNKNOWN_KEY] {
            if !is_added {
                self.session.skip(check, self.session.not_added());
            }
        }
        if is_added {
            self.optional();
            self.keys();
        }
    }

    /// Makes a call for a container of its own and releases that.
    fn add(&self, change: impl FnOnce(Request) -> Request) -> std::sync::Arc<Exchange> {
        let mut at = self.session.container(0);
        at.before = Some(self.session.links());
        let request = self.session.request(Command::Add, self.newest, Some(&at));
        let exchange = self.session.call(&change(request));
        if exchange.succeeded() {
            self.session.release(self.newest, &at);
        }
        exchange
    }

    fn holds(&self, check: &Check) -> bool {
        self.newest >= check.since
    }

    /// Commands that do not exist, and variables that are missing.
    fn variables(&self, at: &Attachment) {
        let session = self.session;
        let add = session.request(Command::Add, self.newest, Some(at));
        let exchange = session.call(&add.command("CONFORMANCE"));
        session.expect_code(&COMMAND_UNKNOWN, &exchange, 4, "the command \"CONFORMANCE\"");
        self.names_variable(&exchange, env::COMMAND);

        const ALL: &[&str] = &[env::CONTAINER_ID, env::NETNS, env::IFNAME];
        let required =
            [(Command::Add, ALL), (Command::Check, ALL), (Command::Del, &[env::CONTAINER_ID, env::IFNAME])];
        for (command, required) in required {
            if !command.exists_in(self.newest) {
                continue;
            }
            for variable in required {
                let request = session.request(command, self.newest, Some(at));
                for (request, what) in
                    [(request.clone().unset(variable), "missing"), (request.set(variable, ""), "empty")]
                {
                    let exchange = session.call(&request);
                    session.expect_code(&ENV_REQUIRED, &exchange, 4, &format!("{variable} {what}"));
                    self.names_variable(&exchange, variable);
                }
            }
        }
    }

    /// Names that break the rules.
    fn names(&self) {
        if !self.holds(&ENV_CONTAINER_ID) {
            return;
        }
        for id in ["-conformance", "con/formance", "con formance", "../conformance"] {
            let exchange = self.add(|request| request.set(env::CONTAINER_ID, id));
            let what = format!("{} {id:?}", env::CONTAINER_ID);
            self.session.expect_code(&ENV_CONTAINER_ID, &exchange, 4, &what);
            self.names_variable(&exchange, env::CONTAINER_ID);
        }
        for name in ["sixteen-letters.", ".", "..", "con/form", "con:form", "con form"] {
            let exchange = self.add(|request| request.set(env::IFNAME, name));
            let refused = match exchange.answer() {
                Answer::Success(_) => Err(format!("{} {name:?} was accepted", env::IFNAME)),
                Answer::Error(_) | Answer::Failure => Ok(()),
                Answer::Broken(why) => Err(why.to_owned()),
            };
            self.session.judge(&ENV_IFNAME, &exchange, refused);
            self.names_variable(&exchange, env::IFNAME);
        }
    }

    /// An error with code 4 says which variable is wrong.
    fn names_variable(&self, exchange: &Exchange, variable: &str) {
        let Answer::Error(object) = exchange.answer() else { return };
        if object.get("code").and_then(serde_json::Value::as_u64) != Some(4) || !self.holds(&ENV_ERROR_NAMES)
        {
            return;
        }
        let told = exchange.told();
        let named =
            if told.contains(variable) { Ok(()) } else { Err(format!("{variable} is not named: {told}")) };
        self.session.judge(&ENV_ERROR_NAMES, exchange, named);
    }

    fn stdin(&self) {
        if self.holds(&STDIN_DECODE) {
            for (stdin, what) in [
                ("", "an empty stdin"),
                ("{\"cniVersion\":", "JSON that breaks off"),
                ("no JSON", "no JSON"),
                ("[]", "a list"),
            ] {
                let exchange = self.add(|request| request.raw(stdin));
                self.session.expect_code(&STDIN_DECODE, &exchange, 6, what);
            }
        }
        if self.holds(&CONFIG_NAME) {
            let exchange = self.add(|request| request.without_key("name"));
            self.session.expect_code(&CONFIG_NAME, &exchange, 7, "a configuration without a name");
            let exchange = self.add(|request| request.key("name", "con/formance"));
            self.session.expect_code(&CONFIG_NAME, &exchange, 7, "the name \"con/formance\"");
        }
    }

    fn versions(&self, possible: &[CniVersion]) {
        let unclaimed = CniVersion::ALL.into_iter().filter(|version| !possible.contains(version));
        for version in unclaimed.map(CniVersion::as_str).chain(["99.0.0"]) {
            let exchange = self.add(|request| request.key("cniVersion", version));
            self.session.expect_code(&CONFIG_VERSION, &exchange, 1, &format!("cniVersion {version:?}"));
        }
    }

    fn optional(&self) {
        let session = self.session;
        let mut optional = Vec::new();
        if session.setup.args.to_string().is_empty() {
            optional.push(env::ARGS);
        }
        if session.setup.delegate().is_none() {
            optional.push(env::PATH);
        }
        for variable in &optional {
            let exchange = self.add(|request| request.unset(variable));
            let works = if exchange.succeeded() {
                Ok(())
            } else {
                Err(format!("without {variable}: {}", exchange.told()))
            };
            session.judge(&ENV_OPTIONAL, &exchange, works);
        }
        if optional.is_empty() {
            session.skip(&ENV_OPTIONAL, "every variable is needed here");
        }
    }

    fn keys(&self) {
        let exchange = self.add(|request| request.key("args", json!({"conformance": {"key": "value"}})));
        self.session.expect_success(&CONFIG_ARGS, &exchange);

        let exchange = self.add(|request| request.key(UNKNOWN_KEY, UNKNOWN_VALUE));
        let verdict = match exchange.answer() {
            Answer::Success(_) => Ok(()),
            Answer::Error(object) => {
                let told = exchange.told();
                let is_2 = object.get("code").and_then(serde_json::Value::as_u64) == Some(2);
                if is_2 && told.contains(UNKNOWN_KEY) && told.contains(UNKNOWN_VALUE) {
                    Ok(())
                } else {
                    Err(told)
                }
            }
            Answer::Failure | Answer::Broken(_) => Err(exchange.told()),
        };
        self.session.judge(&CONFIG_UNKNOWN_KEY, &exchange, verdict);
    }
}
