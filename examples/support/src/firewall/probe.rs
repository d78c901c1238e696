//! Which firewall works here. What is configured is the plugin's business; this is for when nothing is.

use std::fmt;

use super::iptables::Iptables;
use super::nft::Nft;
use super::{Family, Tools};
use crate::error::{Error, Result};

/// A way to program the kernel's firewall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The `iptables` programs, whichever kernel interface they use.
    Iptables,
    /// The `nft` program.
    Nftables,
}

impl Backend {
    /// `iptables` if it works, else `nft` if that works, as Go's plugins choose. A working program is installed, may be
    /// used, and finds what it needs in the kernel.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackend`], which says what was tried and why each does not work.
    pub fn detect(tools: &dyn Tools) -> Result<Self> {
        let mut probed = Vec::new();
        for backend in [Self::Iptables, Self::Nftables] {
            match backend.check(tools) {
                Ok(()) => return Ok(backend),
                Err(error) => probed.push(format!("{backend}: {}", chain(&error))),
            }
        }
        Err(Error::NoBackend { probed: probed.join("; ") })
    }

    /// Whether this one works.
    ///
    /// # Errors
    ///
    /// Why not: the program is missing, or what it wrote to stderr.
    pub fn check(self, tools: &dyn Tools) -> Result<()> {
        match self {
            Self::Iptables => Iptables::new(tools, Family::V4).works(),
            Self::Nftables => Nft::new(tools).works(),
        }
    }
}

/// As configurations name it.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        })
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedTools;

    const IPTABLES: &str = "iptables --wait=60 --table nat --list-rules POSTROUTING";

    #[test]
    fn iptables_goes_first() {
        let tools = ScriptedTools::new().success(IPTABLES, "-P POSTROUTING ACCEPT\n");
        assert_eq!(Backend::detect(&tools).unwrap(), Backend::Iptables);
        tools.assert_done();
    }

    #[test]
    fn c76_nft_is_chosen_where_there_is_no_iptables() {
        let tools = ScriptedTools::new().missing("iptables").success("nft list tables", "");
        assert_eq!(Backend::detect(&tools).unwrap(), Backend::Nftables);
        tools.assert_done();
    }

    #[test]
    fn c76_a_program_that_does_not_work_is_passed_over() {
        let tools = ScriptedTools::new()
            .failure(IPTABLES, "can't initialize iptables table `nat': Table does not exist\n")
            .success("nft list tables", "");
        assert_eq!(Backend::detect(&tools).unwrap(), Backend::Nftables);
    }

    #[test]
    fn c76_the_error_says_what_was_probed() {
        let tools =
            ScriptedTools::new().missing("iptables").failure("nft list tables", "Operation not permitted\n");
        let error = Backend::detect(&tools).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no usable firewall: iptables: failed to find \"iptables\" in [\"/scripted\"]; \
             nftables: failed to run nft list tables: exit status: 1: Operation not permitted"
        );
    }
}
