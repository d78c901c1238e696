//! A made-up kernel: namespaces with links, addresses, routes and sysctls, in memory and a temporary directory.
//!
//! It knows what plugins need and answers as Linux does, which `tests/kernel/fake.rs` proves by doing the same on both.
//! What it does not know is refused as unsupported. It answers on the level of netlink messages, so that all of
//! [`netlink`](crate::netlink) is in the test but the socket.

mod addresses;
mod changes;
mod links;
mod routes;
mod rules;
mod sysctls;
mod traffic;
mod vlans;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, ParseableParametrized as _};
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::rule::RuleMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno as RawErrno;
use tempfile::TempDir;

use self::links::FakeLink;
use crate::error::{Error, Result};
use crate::firewall::Family;
use crate::netlink::body;
use crate::netlink::socket::{Failure, Reply};
use crate::netns::{NetNs, NetNsId};

/// A kernel for tests without root. It starts with the host's namespace, which has a loopback interface.
///
/// Work given to [`NetNs::run`] runs where the test runs, so it must only use what comes from a [`NetNs`].
///
/// ```
/// use plugin_support::kernel::Kernel;
/// use plugin_support::netlink::{LinkKind, NewLink, Peer};
/// use plugin_support::testing::FakeKernel;
///
/// let fake = FakeKernel::new();
/// fake.add_netns("/run/netns/blue");
/// fake.refuse("set link", 16);
///
/// // What a plugin does with its `Kernel`:
/// let kernel = Kernel::from(&fake);
/// let (host, container) = (kernel.current()?, kernel.netns("/run/netns/blue")?);
/// let netlink = container.netlink()?;
/// netlink.create(&NewLink::new("eth0", LinkKind::Veth(Peer::new("veth0").netns(&host))))?;
/// let refused = netlink.set_up(&netlink.link("eth0")?).unwrap_err();
///
/// assert_eq!(refused.errno().map(|errno| errno.raw()), Some(16));
/// assert_eq!(fake.log(), [r#"create veth "eth0" with peer "veth0" in netns "/proc/thread-self/ns/net""#]);
/// assert!(host.netlink()?.link("veth0")?.is_kind("veth"));
/// # Ok::<(), plugin_support::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FakeKernel {
    state: Arc<Mutex<State>>,
}

/// One namespace of a [`FakeKernel`], behind a [`NetNs`].
#[derive(Clone, Debug)]
pub(crate) struct FakeNetns {
    state: Arc<Mutex<State>>,
    id: usize,
    sysctls: PathBuf,
}

#[derive(Debug)]
struct State {
    /// By their number; those that are gone keep their place, without a path.
    namespaces: Vec<Namespace>,
    /// Which namespace a descriptor means. One that was closed is overwritten when its number comes again.
    descriptors: HashMap<RawFd, usize>,
    next_index: u32,
    refusals: Vec<(String, RawErrno)>,
    /// How long the log may get.
    last_change: Option<usize>,
    log: Vec<String>,
    ipv6: bool,
}

#[derive(Debug)]
struct Namespace {
    path: Option<PathBuf>,
    links: Vec<FakeLink>,
    addresses: Vec<AddressMessage>,
    routes: Vec<RouteMessage>,
    rules: Vec<RuleMessage>,
    traffic: traffic::Traffic,
    sysctls: TempDir,
}

/// The host's number.
const HOST: usize = 0;

type Answer<T> = std::result::Result<T, RawErrno>;

impl Default for FakeKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeKernel {
    /// A kernel with everything.
    pub fn new() -> Self {
        Self::with(true)
    }

    /// A kernel that was started with `ipv6.disable=1`: it has no IPv6 sysctls and takes no IPv6 addresses.
    pub fn without_ipv6() -> Self {
        Self::with(false)
    }

    fn with(ipv6: bool) -> Self {
        let state = State {
            namespaces: Vec::new(),
            descriptors: HashMap::new(),
            next_index: 2,
            refusals: Vec::new(),
            last_change: None,
            log: Vec::new(),
            ipv6,
        };
        let fake = Self { state: Arc::new(Mutex::new(state)) };
        fake.add_netns("/proc/thread-self/ns/net");
        fake
    }

    /// The namespace that plugins run in.
    pub fn host(&self) -> NetNs {
        self.at(HOST)
    }

    /// Adds a namespace that is found at `path`.
    pub fn add_netns(&self, path: impl Into<PathBuf>) -> NetNs {
        let mut state = locked(&self.state);
        let id = state.namespaces.len();
        let namespace = Namespace::new(path.into(), state.ipv6);
        state.namespaces.push(namespace);
        drop(state);
        self.at(id)
    }

    /// Removes the namespace at `path` with its links, as if the runtime had; veth pairs go with their end inside.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn remove_netns(&self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        let mut state = locked(&self.state);
        let id = state.at_path(path).unwrap_or_else(|| panic!("no namespace at {path:?}"));
        let links: Vec<_> = state.namespaces[id].links.iter().map(|link| link.index).collect();
        for index in links {
            // The loopback interface cannot be deleted, but nobody can look at it any more.
            let _ = state.delete_link(id, index);
        }
        state.namespaces[id].path = None;
    }

    /// Refuses the next request whose text, as it would be in the error, contains `attempt`, with an error number of
    /// `errno.h`. Several refusals wait for their requests independently.
    pub fn refuse(&self, attempt: impl Into<String>, errno: i32) {
        let errno =
            RawErrno::from_io_error(&std::io::Error::from_raw_os_error(errno)).unwrap_or(RawErrno::IO);
        locked(&self.state).refusals.push((attempt.into(), errno));
    }

    /// Refuses everything after so many more changes, so that a plugin cannot even undo them: what is left then is what a
    /// plugin leaves that is killed there. [`revive`](Self::revive) ends it.
    pub fn die_after(&self, changes: usize) {
        let mut state = locked(&self.state);
        state.last_change = Some(state.log.len() + changes);
    }

    /// Answers again, after [`die_after`](Self::die_after).
    pub fn revive(&self) {
        locked(&self.state).last_change = None;
    }

    /// Adds a link of a kind that is not made by netlink, such as `tun`, to the namespace at `path`.
    ///
    /// # Errors
    ///
    /// As told by [`refuse`](Self::refuse), and if the name is taken there.
    ///
    /// # Panics
    ///
    /// If there is no such namespace.
    pub fn add_link(&self, path: impl AsRef<Path>, name: &str, kind: &str) -> Result<()> {
        let path = path.as_ref();
        let mut state = locked(&self.state);
        let netns = state.at_path(path).unwrap_or_else(|| panic!("no namespace at {path:?}"));
        let attempt = format!("create {kind} {name:?}");
        let added = state.refusal(&attempt).and_then(|()| state.add_link(netns, name, kind));
        added.map_err(|errno| Error::os(format!("failed to {attempt}"), errno))?;
        state.log.push(attempt);
        Ok(())
    }

    /// What was changed so far, in the words of the errors: `create bridge "cni0"`. What was refused is not there.
    pub fn log(&self) -> Vec<String> {
        locked(&self.state).log.clone()
    }

    pub(crate) fn open(&self, path: &Path) -> Result<NetNs> {
        let found = locked(&self.state).at_path(path);
        match found {
            Some(id) => Ok(self.at(id)),
            None => Err(Error::os(format!("failed to Statfs {path:?}"), RawErrno::NOENT)),
        }
    }

    fn at(&self, id: usize) -> NetNs {
        let mut state = locked(&self.state);
        let namespace = &state.namespaces[id];
        let path = namespace.path.clone().unwrap_or_default();
        let sysctls = namespace.sysctls.path().to_owned();
        // A descriptor that stands for the namespace in requests, and for nothing else.
        let file =
            File::open("/dev/null").unwrap_or_else(|error| panic!("failed to open \"/dev/null\": {error}"));
        state.descriptors.insert(file.as_raw_fd(), id);
        let fake = FakeNetns { state: Arc::clone(&self.state), id, sysctls };
        NetNs::fake(file, path, NetNsId::fake(id as u64), fake)
    }
}

impl FakeNetns {
    /// Whether plugins run in this namespace.
    pub(crate) fn is_current(&self) -> bool {
        self.id == HOST
    }

    /// What stands for `/proc/sys`.
    pub(crate) fn sysctl_root(&self) -> &Path {
        &self.sysctls
    }

    /// Answers a request as the kernel would, from bytes and in bytes.
    pub(crate) fn request(
        &self,
        kind: u16,
        flags: u16,
        body: &[u8],
        attempt: &str,
    ) -> Result<Vec<Reply>, Failure> {
        let message = RouteNetlinkMessage::parse_with_param(body, kind)
            .map_err(|error| Failure::Decode(error.to_string()))?;
        let mut state = locked(&self.state);
        state.refusal(attempt)?;
        let replies = state.request(self.id, &message, flags)?;
        if replies.is_empty() {
            state.log.push(attempt.trim_start_matches("failed to ").to_owned());
        }
        Ok(replies.iter().map(reply).collect())
    }

    /// Answers a request for a table.
    pub(crate) fn dump(&self, kind: u16, body: &[u8], attempt: &str) -> Result<Vec<Reply>, Failure> {
        let message = RouteNetlinkMessage::parse_with_param(body, kind)
            .map_err(|error| Failure::Decode(error.to_string()))?;
        let mut state = locked(&self.state);
        state.refusal(attempt)?;
        Ok(state.dump(self.id, &message)?.iter().map(reply).collect())
    }

    /// Only takes note.
    pub(crate) fn forget_udp(&self, family: Family, ports: &[u16]) -> Result<usize> {
        let mut state = locked(&self.state);
        let attempt = format!("forget tracked connections of {family:?} to udp ports {ports:?}");
        state.refusal(&attempt).map_err(|errno| Error::os(format!("failed to {attempt}"), errno))?;
        state.log.push(attempt);
        Ok(0)
    }
}

impl State {
    fn at_path(&self, path: &Path) -> Option<usize> {
        self.namespaces.iter().position(|namespace| namespace.path.as_deref() == Some(path))
    }

    /// The test's wish to refuse this request, which is fulfilled once, or every one.
    fn refusal(&mut self, attempt: &str) -> Answer<()> {
        if self.last_change.is_some_and(|last| self.log.len() >= last) {
            return Err(RawErrno::IO);
        }
        match self.refusals.iter().position(|(text, _)| attempt.contains(text)) {
            Some(found) => Err(self.refusals.remove(found).1),
            None => Ok(()),
        }
    }

    fn request(
        &mut self,
        netns: usize,
        message: &RouteNetlinkMessage,
        flags: u16,
    ) -> Answer<Vec<RouteNetlinkMessage>> {
        use RouteNetlinkMessage as Message;
        let exclusive = flags & NLM_F_EXCL != 0;
        let replace = flags & NLM_F_REPLACE != 0;
        match message {
            Message::GetLink(link) => return Ok(vec![Message::NewLink(self.get_link(netns, link)?)]),
            Message::GetRoute(route) => return Ok(vec![Message::NewRoute(self.lookup(netns, route)?)]),
            Message::NewLink(link) if flags & NLM_F_CREATE != 0 => self.create_link(netns, link)?,
            Message::SetLink(link) if link.header.interface_family == AddressFamily::Bridge => {
                self.set_vlans(netns, link, true)?;
            }
            Message::DelLink(link) if link.header.interface_family == AddressFamily::Bridge => {
                self.set_vlans(netns, link, false)?;
            }
            Message::NewLink(link) | Message::SetLink(link) => self.change_link(netns, link)?,
            Message::DelLink(link) => self.delete_link(netns, link.header.index)?,
            Message::NewAddress(address) => self.add_address(netns, address, exclusive)?,
            Message::DelAddress(address) => self.delete_address(netns, address)?,
            Message::NewRoute(route) => self.add_route(netns, route, exclusive, replace)?,
            Message::DelRoute(route) => self.delete_route(netns, route)?,
            Message::NewRule(rule) => self.add_rule(netns, rule)?,
            Message::DelRule(rule) => self.delete_rule(netns, rule)?,
            _ => return Err(RawErrno::OPNOTSUPP),
        }
        Ok(Vec::new())
    }

    fn dump(&self, netns: usize, message: &RouteNetlinkMessage) -> Answer<Vec<RouteNetlinkMessage>> {
        use RouteNetlinkMessage as Message;
        let namespace = &self.namespaces[netns];
        Ok(match message {
            Message::GetLink(link) if link.header.interface_family == AddressFamily::Bridge => {
                namespace.links.iter().filter_map(vlans::message).map(Message::NewLink).collect()
            }
            Message::GetLink(_) => {
                namespace.links.iter().map(|link| Message::NewLink(self.link_message(netns, link))).collect()
            }
            Message::GetAddress(address) => {
                self.link(netns, address.header.index)?;
                let mut found: Vec<_> =
                    namespace.addresses.iter().filter(|a| a.header.index == address.header.index).collect();
                found.sort_by_key(|address| address.header.family == AddressFamily::Inet6);
                found.into_iter().cloned().map(Message::NewAddress).collect()
            }
            // Whoever asks filters as well, for kernels that do not.
            Message::GetRoute(_) => namespace.routes.iter().cloned().map(Message::NewRoute).collect(),
            Message::GetRule(rule) => self.list_rules(netns, rule.header.family),
            _ => return Err(RawErrno::OPNOTSUPP),
        })
    }
}

impl Namespace {
    fn new(path: PathBuf, ipv6: bool) -> Self {
        let sysctls = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        sysctls::populate(sysctls.path(), ipv6);
        sysctls::add_link(sysctls.path(), "lo");
        let links = vec![FakeLink::loopback()];
        let (addresses, routes) = (Vec::new(), Vec::new());
        let (rules, traffic) = (Vec::new(), traffic::Traffic::default());
        Self { path: Some(path), links, addresses, routes, rules, traffic, sysctls }
    }
}

fn reply(message: &RouteNetlinkMessage) -> Reply {
    Reply { kind: message.message_type(), body: body(message) }
}

/// A test that panicked while it held the lock has failed already.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
