//! Traffic control of the made-up kernel: a qdisc on top of a link and one before it, and filters on the latter.

use rustix::io::Errno as RawErrno;

use super::{Answer, FakeNetns, locked};
use crate::netlink::socket::{Failure, Reply};
use crate::netlink::traffic::{
    DELETE_QDISC, LIST_FILTERS, LIST_QDISCS, Message, NEW_FILTER, NEW_QDISC, ROOT,
};

/// What was asked for, message by message; that of links that are gone is never looked at.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    qdiscs: Vec<Vec<u8>>,
    filters: Vec<Vec<u8>>,
}

impl FakeNetns {
    /// Answers a request as the kernel would.
    pub(crate) fn traffic(&self, kind: u16, body: &[u8], attempt: &str) -> Result<Vec<Reply>, Failure> {
        let mut state = locked(&self.state);
        state.refusal(attempt)?;
        let message = Message::new(body).ok_or(RawErrno::INVAL)?;
        state.link(self.id, message.index())?;
        state.namespaces[self.id].traffic.request(kind, &message, body)?;
        state.log.push(attempt.trim_start_matches("failed to ").to_owned());
        Ok(Vec::new())
    }

    /// Answers a request for a table.
    pub(crate) fn list_traffic(&self, kind: u16, body: &[u8], attempt: &str) -> Result<Vec<Reply>, Failure> {
        let mut state = locked(&self.state);
        state.refusal(attempt)?;
        let index = Message::new(body).ok_or(RawErrno::INVAL)?.index();
        let traffic = &state.namespaces[self.id].traffic;
        let table = match kind {
            LIST_QDISCS => &traffic.qdiscs,
            LIST_FILTERS => &traffic.filters,
            _ => return Err(RawErrno::OPNOTSUPP.into()),
        };
        // Qdiscs come for all links, as the kernel ignores which was asked for.
        let wanted = |body: &&Vec<u8>| kind == LIST_QDISCS || index_of(body) == Some(index);
        Ok(table.iter().filter(wanted).map(|body| Reply { kind: kind - 2, body: body.clone() }).collect())
    }
}

impl Traffic {
    fn request(&mut self, kind: u16, message: &Message<'_>, body: &[u8]) -> Answer<()> {
        let (index, parent) = (message.index(), message.parent());
        let is_there = |found: &Vec<u8>| {
            Message::new(found).is_some_and(|found| found.index() == index && found.parent() == parent)
        };
        match kind {
            NEW_QDISC if self.qdiscs.iter().any(is_there) => return Err(RawErrno::EXIST),
            NEW_QDISC => self.qdiscs.push(body.to_vec()),
            DELETE_QDISC => {
                let found = self.qdiscs.iter().position(is_there).ok_or(RawErrno::NOENT)?;
                self.qdiscs.remove(found);
                if parent != ROOT {
                    self.filters.retain(|body| index_of(body) != Some(index));
                }
            }
            NEW_FILTER => {
                let is_parent = |found: &Vec<u8>| {
                    Message::new(found)
                        .is_some_and(|found| found.index() == index && found.handle() == parent)
                };
                if !self.qdiscs.iter().any(is_parent) {
                    return Err(RawErrno::INVAL);
                }
                self.filters.push(body.to_vec());
            }
            _ => return Err(RawErrno::OPNOTSUPP),
        }
        Ok(())
    }
}

fn index_of(body: &[u8]) -> Option<u32> {
    Message::new(body).map(|message| message.index())
}
