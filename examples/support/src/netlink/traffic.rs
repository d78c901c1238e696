//! Traffic control: token buckets that limit a rate, and filters that redirect what comes in.
//!
//! Messages are read and written here byte by byte: other programs' qdiscs and filters, of whatever kind, are in the same
//! tables, and what cannot be understood of them must not be an error.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};

use super::link::Link;
use super::{Handle, Kernel, failed};
use crate::error::{Error, Result};

/// Messages of `linux/rtnetlink.h`.
pub(crate) const NEW_QDISC: u16 = 36;
pub(crate) const DELETE_QDISC: u16 = 37;
pub(crate) const LIST_QDISCS: u16 = 38;
pub(crate) const NEW_FILTER: u16 = 44;
pub(crate) const LIST_FILTERS: u16 = 46;

/// `TC_H_ROOT` and `TC_H_INGRESS` of `linux/pkt_sched.h`.
pub(crate) const ROOT: u32 = 0xffff_ffff;
pub(crate) const INGRESS: u32 = 0xffff_fff1;
/// The handle of every ingress qdisc, `ffff:`.
const INGRESS_HANDLE: u32 = 0xffff_0000;
/// The handle of token buckets that are made here, `1:`.
const BUCKET_HANDLE: u32 = 0x0001_0000;

/// Bytes of `struct tcmsg`.
const HEADER: usize = 20;
/// `TCA_KIND` and `TCA_OPTIONS`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// `TCA_TBF_PARMS` and `TCA_TBF_RATE64`; bytes of `struct tc_tbf_qopt`.
const TBF_PARMS: u16 = 1;
const TBF_RATE64: u16 = 4;
const TBF_QOPT: usize = 36;
/// `TCA_U32_CLASSID`, `TCA_U32_SEL` and `TCA_U32_ACT`.
const U32_CLASS: u16 = 1;
const U32_SELECTOR: u16 = 5;
const U32_ACTIONS: u16 = 7;
/// `TCA_MIRRED_PARMS`; `TC_ACT_STOLEN` and `TCA_EGRESS_REDIR` in it.
const MIRRED_PARMS: u16 = 2;
const STOLEN: u32 = 4;
const REDIRECT: u32 = 1;
/// Priority 1, of all protocols (`ETH_P_ALL`, in network order).
const FIRST_OF_ALL: u32 = 1 << 16 | (0x0003_u16.to_be() as u32);

/// What decides when a link's frames leave, or takes them as they come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// What it is, in the kernel's words: `tbf`, `ingress`, `noqueue`.
    pub kind: String,
    /// Its handle, the major number in the upper half. The kernel's own choice has 0.
    pub handle: u32,
    /// Where it is: on top of the link or, for ingress, before it, or below a class.
    pub parent: u32,
    /// The settings of a `tbf`.
    pub bucket: Option<TokenBucket>,
}

/// A limit of a rate: frames leave as fast as a bucket fills, and as many at once as it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bytes a second.
    pub rate: u64,
    /// How many bytes may wait.
    pub limit: u32,
    /// What the bucket holds, as the time to fill it, in the kernel's ticks; see `/proc/net/psched`.
    pub buffer: u32,
}

impl Qdisc {
    /// Whether it is on top of its link.
    pub fn is_root(&self) -> bool {
        self.parent == ROOT
    }

    /// Whether it takes what comes in.
    pub fn is_ingress(&self) -> bool {
        self.parent == INGRESS && self.kind == "ingress"
    }

    /// Whether it is a token bucket on top, with the handle that [`Handle::limit_rate`] gives.
    pub fn is_rate_limit(&self) -> bool {
        self.is_root() && self.kind == "tbf" && self.handle == BUCKET_HANDLE
    }

    fn of(message: &Message<'_>) -> Option<Self> {
        let kind = message.kind()?;
        let bucket = if kind == "tbf" { message.options().and_then(TokenBucket::of) } else { None };
        Some(Self { kind, handle: message.handle(), parent: message.parent(), bucket })
    }
}

impl TokenBucket {
    fn of(options: &[u8]) -> Option<Self> {
        let parms = attribute(options, TBF_PARMS)?;
        let wide =
            attribute(options, TBF_RATE64).and_then(|bytes| Some(u64::from_ne_bytes(*bytes.first_chunk()?)));
        let rate = match wide {
            Some(rate) => rate,
            None => number(parms, 8)?.into(),
        };
        Some(Self { rate, limit: number(parms, 24)?, buffer: number(parms, 28)? })
    }

    fn options(&self) -> Vec<u8> {
        let mut parms = [0; TBF_QOPT];
        // Saturated, if the other attribute has the whole.
        let rate = u32::try_from(self.rate).unwrap_or(u32::MAX);
        for (at, value) in [(8, rate), (24, self.limit), (28, self.buffer)] {
            parms[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let mut options = Vec::new();
        push(&mut options, TBF_PARMS, &parms);
        if u32::try_from(self.rate).is_err() {
            push(&mut options, TBF_RATE64, &self.rate.to_ne_bytes());
        }
        options
    }
}

impl Handle {
    /// The qdiscs of a link, in the kernel's order.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn qdiscs(&self, link: &Link) -> Result<Vec<Qdisc>> {
        let replies = self.list(LIST_QDISCS, link, 0, || format!("failed to list the qdiscs of {link}"))?;
        let of_link = replies.iter().filter_map(|body| Message::new(body));
        Ok(of_link
            .filter(|found| found.index() == link.index)
            .filter_map(|found| Qdisc::of(&found))
            .collect())
    }

    /// Limits the rate at which frames leave a link.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if somebody has put a qdisc there.
    pub fn limit_rate(&self, link: &Link, bucket: &TokenBucket) -> Result<()> {
        let mut body = header(link.index, BUCKET_HANDLE, ROOT, 0);
        push_text(&mut body, KIND, "tbf");
        push(&mut body, OPTIONS, &bucket.options());
        let TokenBucket { rate, limit, buffer } = bucket;
        self.traffic(NEW_QDISC, &body, || {
            format!("failed to limit rate of {link}: {rate} bytes a second, limit {limit}, buffer {buffer}")
        })
    }

    /// Ends a [`limit_rate`](Self::limit_rate).
    ///
    /// # Errors
    ///
    /// If there is none, as [`qdiscs`](Self::qdiscs) can tell, and if the kernel refuses.
    pub fn unlimit_rate(&self, link: &Link) -> Result<()> {
        let body = header(link.index, BUCKET_HANDLE, ROOT, 0);
        self.traffic(DELETE_QDISC, &body, || format!("failed to unlimit rate of {link}"))
    }

    /// Lets filters see what comes in by a link.
    ///
    /// # Errors
    ///
    /// [`Error::is_exists`] is true if they can already.
    pub fn take_ingress(&self, link: &Link) -> Result<()> {
        let mut body = header(link.index, INGRESS_HANDLE, INGRESS, 0);
        push_text(&mut body, KIND, "ingress");
        self.traffic(NEW_QDISC, &body, || format!("failed to take ingress of {link}"))
    }

    /// Ends a [`take_ingress`](Self::take_ingress), with all filters.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] is true if there is none.
    pub fn leave_ingress(&self, link: &Link) -> Result<()> {
        let body = header(link.index, INGRESS_HANDLE, INGRESS, 0);
        self.traffic(DELETE_QDISC, &body, || format!("failed to leave ingress of {link}"))
    }

    /// Redirects all that comes in by a link, after [`take_ingress`](Self::take_ingress): it leaves by `to` first, and
    /// then goes on if that is an `ifb`.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn redirect_ingress(&self, link: &Link, to: &Link) -> Result<()> {
        let mut body = header(link.index, 0, INGRESS_HANDLE, FIRST_OF_ALL);
        push_text(&mut body, KIND, "u32");
        let mut options = Vec::new();
        push(&mut options, U32_CLASS, &(BUCKET_HANDLE | 1).to_ne_bytes());
        // One key, which every frame has; the last to be looked at.
        let mut selector = [0; 32];
        (selector[0], selector[2]) = (1, 1);
        push(&mut options, U32_SELECTOR, &selector);
        let mut parms = Vec::new();
        for value in [0, 0, STOLEN, 0, 0, REDIRECT, to.index] {
            parms.extend(value.to_ne_bytes());
        }
        let (mut mirred, mut action, mut actions) = (Vec::new(), Vec::new(), Vec::new());
        push(&mut mirred, MIRRED_PARMS, &parms);
        push_text(&mut action, KIND, "mirred");
        push(&mut action, OPTIONS, &mirred);
        push(&mut actions, 1, &action);
        push(&mut options, U32_ACTIONS, &actions);
        push(&mut body, OPTIONS, &options);
        self.traffic(NEW_FILTER, &body, || format!("failed to redirect ingress of {link} to {to}"))
    }

    /// The indexes of the links that a link's ingress is redirected to.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn redirects(&self, link: &Link) -> Result<Vec<u32>> {
        let attempt = || format!("failed to list the filters of {link}");
        let replies = self.list(LIST_FILTERS, link, INGRESS_HANDLE, attempt)?;
        Ok(replies.iter().filter_map(|body| Message::new(body)).flat_map(|found| found.redirects()).collect())
    }

    fn traffic(&self, kind: u16, body: &[u8], attempt: impl Fn() -> String) -> Result<()> {
        let flags = if kind == DELETE_QDISC { 0 } else { NLM_F_CREATE | NLM_F_EXCL };
        let answer = match &self.kernel {
            Kernel::Linux(socket) => socket.request(kind, flags, body),
            #[cfg(feature = "testing")]
            Kernel::Fake(netns) => netns.traffic(kind, body, &attempt()),
        };
        answer.map(drop).map_err(|failure| failed(failure, attempt()))
    }

    fn list(
        &self,
        kind: u16,
        link: &Link,
        parent: u32,
        attempt: impl Fn() -> String,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let body = header(link.index, 0, parent, 0);
        let answer = match &self.kernel {
            Kernel::Linux(socket) => socket.dump(kind, &body),
            #[cfg(feature = "testing")]
            Kernel::Fake(netns) => netns.list_traffic(kind, &body, &attempt()),
        };
        let replies = answer.map_err(|failure| failed(failure, attempt()))?;
        Ok(replies.into_iter().map(|reply| reply.body).collect())
    }
}

/// A message of this family: where, and attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    header: &'a [u8; HEADER],
    attributes: &'a [u8],
}

impl<'a> Message<'a> {
    /// A message, if it is long enough to be one.
    pub(crate) fn new(body: &'a [u8]) -> Option<Self> {
        let (header, attributes) = body.split_first_chunk()?;
        Some(Self { header, attributes })
    }

    pub(crate) fn index(&self) -> u32 {
        self.field(4)
    }

    pub(crate) fn handle(&self) -> u32 {
        self.field(8)
    }

    pub(crate) fn parent(&self) -> u32 {
        self.field(12)
    }

    pub(crate) fn kind(&self) -> Option<String> {
        let text = attribute(self.attributes, KIND)?;
        Some(String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
    }

    fn options(&self) -> Option<&'a [u8]> {
        attribute(self.attributes, OPTIONS)
    }

    /// Where actions of a `u32` filter redirect to.
    pub(crate) fn redirects(&self) -> Vec<u32> {
        if self.kind().as_deref() != Some("u32") {
            return Vec::new();
        }
        let actions = self.options().and_then(|options| attribute(options, U32_ACTIONS)).unwrap_or_default();
        let of_action = |action: &[u8]| {
            let is_mirred = attribute(action, KIND).is_some_and(|kind| kind.starts_with(b"mirred"));
            let parms = attribute(attribute(action, OPTIONS)?, MIRRED_PARMS)?;
            (is_mirred && number(parms, 20) == Some(REDIRECT)).then(|| number(parms, 24)).flatten()
        };
        Attributes(actions).filter_map(|(_, action)| of_action(action)).collect()
    }

    fn field(&self, at: usize) -> u32 {
        number(self.header, at).unwrap_or_default()
    }
}

fn header(index: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    [0, index, handle, parent, info].iter().flat_map(|field| field.to_ne_bytes()).collect()
}

/// Appends an attribute of `struct nlattr`, and what fills the last four bytes.
fn push(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    // No attribute here has more than some hundred bytes.
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    body.extend(length.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn push_text(body: &mut Vec<u8>, kind: u16, text: &str) {
    push(body, kind, &[text.as_bytes(), b"\0"].concat());
}

/// The value of an attribute.
fn attribute(attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    Attributes(attributes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

/// Kinds and values; what follows an attribute that is cut off is not there.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, _) = self.0.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        // Without the bits that say how the value is to be read.
        let kind = u16::from_ne_bytes([header[2], header[3]]) & 0x3fff;
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_read_as_it_is_written() {
        for rate in [1, 125_000, u64::from(u32::MAX), 12_500_000_000] {
            let bucket = TokenBucket { rate, limit: 7, buffer: 9 };
            assert_eq!(TokenBucket::of(&bucket.options()), Some(bucket));
        }
    }

    #[test]
    fn what_is_cut_off_or_foreign_is_no_error() {
        let bucket = TokenBucket { rate: 12_500_000_000, limit: 7, buffer: 9 };
        let mut body = header(3, BUCKET_HANDLE, ROOT, 0);
        push_text(&mut body, KIND, "tbf");
        push(&mut body, OPTIONS, &bucket.options());
        for length in 0..=body.len() {
            let read = Message::new(&body[..length]).and_then(|message| {
                assert!(message.redirects().is_empty());
                Qdisc::of(&message)
            });
            let whole = length == body.len();
            assert_eq!(read.and_then(|qdisc| qdisc.bucket), whole.then_some(bucket), "{length}");
        }
    }
}
