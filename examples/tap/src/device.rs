//! Making the link: by `ip tuntap`, as the kernel refuses to do it by netlink.
//!
//! What remains is the system call `ioctl` on `/dev/net/tun`, for which no crate has a function that is safe to call for
//! this, or a program. Go's plugin runs `ip` as well, unless both an owner and a group are given. A program also is the
//! only way to make the link in another SELinux context: the kernel labels what is made by the context of the process.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

use cni_skel::{Error, Result, ResultExt};
use plugin_support::firewall::{Call, Tools};

use crate::config::Settings;

/// The context in which this thread's next program runs; written as a whole.
const NEXT_CONTEXT: &str = "/proc/thread-self/attr/exec";

/// Makes a link of a name in the namespace of this thread. It stays without a program at its other end.
///
/// # Errors
///
/// When the program is missing or refuses, or there is no such context.
pub(crate) fn create(tools: &dyn Tools, name: &str, settings: &Settings<'_>) -> Result<()> {
    let mut words = ["tuntap", "add", "mode", "tap", "name", name].map(str::to_owned).to_vec();
    if settings.multi_queue {
        words.push("multi_queue".to_owned());
    }
    for (word, id) in [("user", settings.owner), ("group", settings.group)] {
        words.extend(id.into_iter().flat_map(|id| [word.to_owned(), id.to_string()]));
    }
    let call = Call::new("ip", words);
    let Some(context) = settings.selinux_context else { return succeed(tools, &call) };
    set_next_context(context).with_context(|| format!("failed set socket label: {context:?}"))?;
    let created = succeed(tools, &call);
    // Whatever this thread runs later is its own business again. Without a program, it still was the next one's.
    let reset = set_next_context("").context("failed to reset the socket label");
    created.and(reset)
}

/// Whether links can be made.
///
/// # Errors
///
/// When the program is missing, or cannot do that.
pub(crate) fn works(tools: &dyn Tools) -> Result<()> {
    succeed(tools, &Call::new("ip", ["tuntap", "show"]))
}

fn set_next_context(context: &str) -> io::Result<()> {
    // One call, also for an empty context: the kernel takes each for the whole of it.
    let written = OpenOptions::new().write(true).open(NEXT_CONTEXT)?.write(context.as_bytes())?;
    if written == context.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

fn succeed(tools: &dyn Tools, call: &Call) -> Result<()> {
    let outcome = tools.run(call)?;
    if outcome.success {
        return Ok(());
    }
    let (status, stderr) = (outcome.status, outcome.stderr);
    Err(Error::message(format!("failed to run command {call}: {status}: {}", stderr.trim())))
}

#[cfg(test)]
mod tests {
    use plugin_support::testing::ScriptedTools;

    use super::*;

    #[test]
    fn the_program_is_told_what_is_wanted() {
        let settings = Settings::default();
        let tools = ScriptedTools::new()
            .success("ip tuntap add mode tap name t0", "")
            .success("ip tuntap add mode tap name t1 multi_queue user 0 group 1000", "");
        create(&tools, "t0", &settings).unwrap();
        let settings = Settings { multi_queue: true, owner: Some(0), group: Some(1000), ..settings };
        create(&tools, "t1", &settings).unwrap();
        tools.assert_done();
    }

    #[test]
    fn what_it_says_is_told() {
        let tools = ScriptedTools::new()
            .failure("ip tuntap add mode tap name t0", "open: No such file or directory\n")
            .missing("ip");
        let error = create(&tools, "t0", &Settings::default()).unwrap_err().to_object();
        let expected = "failed to run command ip tuntap add mode tap name t0: exit status: 1: open: No such file or directory";
        assert_eq!(error.msg, expected);
        let error = create(&tools, "t0", &Settings::default()).unwrap_err().to_object();
        assert!(error.msg.starts_with("failed to find \"ip\""), "{error}");
    }

    #[test]
    fn a_context_that_there_is_not_is_refused_and_nothing_run() {
        let tools = ScriptedTools::new();
        let settings = Settings { selinux_context: Some("nobody:nothing"), ..Settings::default() };
        let error = create(&tools, "t0", &settings).unwrap_err().to_object();
        assert!(error.msg.starts_with("failed set socket label: \"nobody:nothing\""), "{error}");
    }
}
