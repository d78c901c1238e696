//! One request, its replies: the loop that every netlink protocol shares. It knows bytes, not what they mean.
//!
//! A request without dump asks for an acknowledgement and ends with it; a dump ends with "done" and is asked anew if
//! the kernel's tables changed while it ran. One socket serves one thread at a time.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE,
    NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN, NetlinkBuffer, NlasIterator,
};
use netlink_sys::{Socket as RawSocket, SocketAddr};
use rustix::io::Errno as RawErrno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

/// `MSG_PEEK | MSG_TRUNC` of `linux/socket.h`: the whole length of the next datagram, without taking it.
const PEEK_LENGTH: i32 = 0x02 | 0x20;

/// `NLMSGERR_ATTR_MSG` of `linux/netlink.h`.
const ERROR_TEXT: u16 = 1;

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;

/// The kernel answers while it handles the request, so this only ends a wait for an answer that was lost.
const LOST: Duration = Duration::from_secs(60);

/// How often a dump is asked for before its interruption is an error.
const DUMP_ATTEMPTS: usize = 16;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The kernel's answer is not one.
    Decode(String),
    /// The kernel refused.
    Refused { errno: RawErrno, explanation: Option<String> },
}

impl Failure {
    fn decode(reason: impl Into<String>) -> Self {
        Self::Decode(reason.into())
    }
}

impl From<RawErrno> for Failure {
    fn from(errno: RawErrno) -> Self {
        Self::Refused { errno, explanation: None }
    }
}

/// One message of an answer, without its header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) kind: u16,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Socket {
    raw: RawSocket,
    sequence: Cell<u32>,
}

impl Socket {
    /// Opens a socket for `protocol` in the calling thread's network namespace.
    pub(crate) fn open(protocol: isize) -> Result<Self, RawErrno> {
        let mut raw = RawSocket::new(protocol).map_err(|error| errno(&error))?;
        raw.bind_auto().map_err(|error| errno(&error))?;
        // Each makes answers better where the kernel knows it (4.12, 4.20); none is needed.
        let _ = raw.set_ext_ack(true);
        let _ = raw.set_cap_ack(true);
        let _ = raw.set_netlink_get_strict_chk(true);
        set_socket_timeout(&raw, Timeout::Recv, Some(LOST))?;
        Ok(Self { raw, sequence: Cell::new(0) })
    }

    /// Sends one request and returns the replies before its acknowledgement.
    pub(crate) fn request(&self, kind: u16, flags: u16, body: &[u8]) -> Result<Vec<Reply>, Failure> {
        let sequence = self.send(kind, flags | NLM_F_REQUEST | NLM_F_ACK, body)?;
        let mut answer = Answer::new(sequence);
        while !answer.complete {
            answer.take(&self.receive()?)?;
        }
        Ok(answer.replies)
    }

    /// Asks for a whole table, again if it changed meanwhile or answers were lost.
    pub(crate) fn dump(&self, kind: u16, body: &[u8]) -> Result<Vec<Reply>, Failure> {
        for _ in 0..DUMP_ATTEMPTS {
            let sequence = self.send(kind, NLM_F_REQUEST | NLM_F_DUMP, body)?;
            let mut answer = Answer::new(sequence);
            while !answer.complete {
                match self.receive() {
                    Ok(datagram) => answer.take(&datagram)?,
                    // The kernel dropped replies: the rest of this dump is worthless.
                    Err(RawErrno::NOBUFS) => break,
                    Err(errno) => return Err(errno.into()),
                }
            }
            if answer.complete && !answer.interrupted {
                return Ok(answer.replies);
            }
        }
        Err(Failure::Decode(format!("the table kept changing while it was read ({DUMP_ATTEMPTS} attempts)")))
    }

    fn send(&self, kind: u16, flags: u16, body: &[u8]) -> Result<u32, RawErrno> {
        let sequence = self.sequence.get().wrapping_add(1);
        self.sequence.set(sequence);
        let message = encode(kind, flags, sequence, body);
        let kernel = SocketAddr::new(0, 0);
        loop {
            match self.raw.send_to(&message, &kernel, 0).map_err(|error| errno(&error)) {
                Ok(_) => return Ok(sequence),
                Err(RawErrno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// The next datagram from the kernel, whole however big it is.
    fn receive(&self) -> Result<Vec<u8>, RawErrno> {
        loop {
            let mut datagram = Vec::new();
            let received = self.raw.recv_from(&mut datagram, PEEK_LENGTH).and_then(|(length, _)| {
                datagram.clear();
                datagram.reserve(length);
                self.raw.recv_from(&mut datagram, 0)
            });
            match received.map_err(|error| errno(&error)) {
                // Any process may send to this socket; only port 0 is the kernel.
                Ok((_, sender)) if sender.port_number() == 0 => return Ok(datagram),
                Ok(_) | Err(RawErrno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// What the kernel tells of by itself.
#[derive(Debug)]
pub(crate) struct Notices {
    raw: RawSocket,
}

impl Notices {
    /// Asks for the notifications of a group, in the calling thread's network namespace.
    pub(crate) fn of(protocol: isize, group: u32) -> Result<Self, RawErrno> {
        let mut raw = RawSocket::new(protocol).map_err(|error| errno(&error))?;
        raw.bind_auto().map_err(|error| errno(&error))?;
        raw.add_membership(group).map_err(|error| errno(&error))?;
        Ok(Self { raw })
    }

    /// Returns when there was a notification, whatever it says, or when time is up.
    pub(crate) fn next(&self, limit: Duration) -> Result<(), RawErrno> {
        // Zero would mean forever.
        set_socket_timeout(&self.raw, Timeout::Recv, Some(limit.max(Duration::from_millis(1))))?;
        let mut datagram = Vec::with_capacity(1);
        match self.raw.recv_from(&mut datagram, 0).map_err(|error| errno(&error)) {
            // More than there was room for means that there were some.
            Ok(_) | Err(RawErrno::AGAIN | RawErrno::INTR | RawErrno::NOBUFS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// What has come in for one request.
#[derive(Debug)]
struct Answer {
    sequence: u32,
    replies: Vec<Reply>,
    complete: bool,
    interrupted: bool,
}

impl Answer {
    fn new(sequence: u32) -> Self {
        Self { sequence, replies: Vec::new(), complete: false, interrupted: false }
    }

    /// Takes in the messages of a datagram. Messages for other requests, such as the rest of a dump that was given up,
    /// are passed over.
    fn take(&mut self, mut datagram: &[u8]) -> Result<(), Failure> {
        while !datagram.is_empty() && !self.complete {
            let message =
                NetlinkBuffer::new_checked(datagram).map_err(|error| Failure::decode(error.to_string()))?;
            let length = message.length() as usize;
            if message.sequence_number() == self.sequence {
                self.message(message.message_type(), message.flags(), &datagram[HEADER..length])?;
            }
            datagram = datagram.get(aligned(length)..).unwrap_or_default();
        }
        Ok(())
    }

    fn message(&mut self, kind: u16, flags: u16, body: &[u8]) -> Result<(), Failure> {
        self.interrupted |= flags & NLM_F_DUMP_INTR != 0;
        match kind {
            NLMSG_NOOP => {}
            NLMSG_OVERRUN => return Err(RawErrno::NOBUFS.into()),
            NLMSG_ERROR => {
                let (code, rest) = code(body)?;
                if code != 0 {
                    return Err(refusal(code, flags, after_echo(rest, flags)));
                }
                self.complete = true;
            }
            NLMSG_DONE => {
                // Some kernels send no code at all.
                if !body.is_empty() {
                    let (code, rest) = code(body)?;
                    if code < 0 {
                        return Err(refusal(code, flags, rest));
                    }
                }
                self.complete = true;
            }
            kind => self.replies.push(Reply { kind, body: body.to_vec() }),
        }
        Ok(())
    }
}

/// A message with its header.
fn encode(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = HEADER + body.len();
    let mut message = Vec::with_capacity(length);
    // A request beyond 4 GiB cannot be built from the attributes of this crate.
    message.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&sequence.to_ne_bytes());
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(body);
    message
}

fn aligned(length: usize) -> usize {
    length.div_ceil(4) * 4
}

/// The error number at the head of an acknowledgement, and what follows it.
fn code(body: &[u8]) -> Result<(i32, &[u8]), Failure> {
    let (code, rest) =
        body.split_first_chunk().ok_or_else(|| Failure::decode("an acknowledgement without error number"))?;
    Ok((i32::from_ne_bytes(*code), rest))
}

/// What follows the request that an error repeats, its header alone or all of it.
fn after_echo(rest: &[u8], flags: u16) -> &[u8] {
    let echoed = match rest.first_chunk() {
        Some(length) if flags & NLM_F_CAPPED == 0 => aligned(u32::from_ne_bytes(*length) as usize),
        _ => HEADER,
    };
    rest.get(echoed..).unwrap_or_default()
}

fn refusal(code: i32, flags: u16, attributes: &[u8]) -> Failure {
    let explanation = if flags & NLM_F_ACK_TLVS == 0 {
        None
    } else {
        NlasIterator::new(attributes)
            .map_while(Result::ok)
            .find(|attribute| attribute.kind() == ERROR_TEXT)
            .map(|attribute| {
                String::from_utf8_lossy(attribute.value()).trim_end_matches(['\0', '.', '\n']).to_owned()
            })
    };
    Failure::Refused { errno: errno(&io::Error::from_raw_os_error(code.wrapping_neg())), explanation }
}

/// The number in an error of `netlink-sys`, which makes all of them from `errno`; `EIO` for what is no Linux number.
fn errno(error: &io::Error) -> RawErrno {
    RawErrno::from_io_error(error).unwrap_or(RawErrno::IO)
}

#[cfg(test)]
mod tests;
