//! What the operations of the protocol have to say.

use std::fmt;

use libcni::cni_types::{Command, VersionedResult};
use libcni::{Attachment, Network, RuntimeConf};
use serde::Serialize;

use super::{Console, Report, Style, pretty};

/// The result of ADD: JSON in any case, as Go's tool prints it.
impl Report for VersionedResult {
    const QUOTES: bool = false;

    fn text(&self, _: Style) -> String {
        self.to_json()
    }

    fn json(&self) -> String {
        self.to_json()
    }
}

/// An operation that has no result went well: silence for people, as in Go's tool.
#[derive(Debug, Serialize)]
pub(crate) struct Done<'a> {
    command: &'static str,
    network: &'a str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    attachment: Option<Attachment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    netns: Option<&'a str>,
}

impl<'a> Done<'a> {
    pub(crate) fn of_network(command: Command, network: &'a Network) -> Self {
        Self { command: command.as_str(), network: network.name().as_str(), attachment: None, netns: None }
    }

    pub(crate) fn of_attachment(command: Command, network: &'a Network, rt: &'a RuntimeConf) -> Self {
        Self { attachment: Some(rt.attachment()), netns: rt.netns(), ..Self::of_network(command, network) }
    }
}

impl Report for Done<'_> {
    fn text(&self, _: Style) -> String {
        String::new()
    }

    fn json(&self) -> String {
        pretty(self)
    }
}

/// What GC did.
#[derive(Debug)]
pub(crate) struct Collected<'a> {
    pub(crate) network: &'a Network,
    pub(crate) valid: &'a [Attachment],
    pub(crate) deleted: &'a [Attachment],
}

impl Report for Collected<'_> {
    fn text(&self, _: Style) -> String {
        let line = |gone: &Attachment| format!("deleted {} {}\n", gone.container_id(), gone.ifname());
        self.deleted.iter().map(line).collect()
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct Json<'a> {
            #[serde(flatten)]
            done: Done<'a>,
            valid: &'a [Attachment],
            deleted: &'a [Attachment],
        }
        let done = Done::of_network(Command::Gc, self.network);
        pretty(&Json { done, valid: self.valid, deleted: self.deleted })
    }
}

/// Why less was done than one might think.
#[derive(Debug)]
pub(crate) enum Note<'a> {
    /// The configuration forbids the command.
    Disabled { network: &'a Network, command: Command },
    /// The configuration's version is from before the command.
    NotAsked { network: &'a Network, command: Command },
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled { network, command } => {
                write!(
                    f,
                    "nothing was done, because network {:?} sets disable{command}",
                    network.name().as_str(),
                    command = if *command == Command::Gc { "GC" } else { "Check" }
                )
            }
            Self::NotAsked { network, command } => {
                write!(f, "the plugins of network {:?} were not called", network.name().as_str())?;
                write!(f, ": {command} exists from {} on", command.first_version())?;
                network.version().map_or(Ok(()), |version| write!(f, ", and its version is {version}"))
            }
        }
    }
}

/// A capability that is offered, and that no plugin declares.
#[derive(Debug)]
pub(crate) struct Unconsumed<'a> {
    pub(crate) capability: &'a str,
    pub(crate) network: &'a Network,
}

impl fmt::Display for Unconsumed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, network } = self;
        write!(
            f,
            "no plugin of network {:?} declares the capability {capability:?}",
            network.name().as_str()
        )?;
        f.write_str(", so that its value has no effect")
    }
}

impl Console {
    /// Notes that plugins cannot be called with a command in the network's version, if that is so.
    pub(crate) fn note_if_not_asked(self, network: &Network, command: Command) {
        if network.version().is_ok_and(|version| !command.exists_in(version)) {
            self.note(&Note::NotAsked { network, command });
        }
    }
}
