//! What a delegated ADD has got, and how it is given back.

use std::io::{self, Write as _};

use super::Delegate;
use crate::error::Result;
use crate::types::result::{IpConfig, IpamResult};
use crate::types::{AddResult, Dns, ErrorObject, Route};

/// What a delegate's ADD has got: it is given back by DEL unless it is [committed](Lease::commit).
///
/// So whatever goes wrong after the ADD, be it an error by `?` or a panic, nothing is left behind. With
/// `panic = "abort"` it is the panic hook that [`run`](crate::run()) sets which gives back.
#[derive(Debug)]
#[must_use = "a lease that is dropped is given back: keep it until the result is complete, then commit it"]
pub struct Lease {
    /// `None` once it is settled.
    delegate: Option<Delegate>,
    result: AddResult,
    #[cfg(panic = "abort")]
    pending: pending::Entry,
}

impl Lease {
    pub(super) fn new(delegate: Delegate, result: AddResult) -> Self {
        Self {
            #[cfg(panic = "abort")]
            pending: pending::Entry::new(&delegate),
            delegate: Some(delegate),
            result,
        }
    }

    /// The delegate's result, in the newest layout.
    pub fn result(&self) -> &AddResult {
        &self.result
    }

    /// The addresses, without the interfaces that they are on: those are this plugin's business.
    pub fn ips(&self) -> impl Iterator<Item = IpConfig> + '_ {
        self.result.ips.iter().cloned().map(|mut ip| {
            ip.interface = None;
            ip
        })
    }

    /// The routes.
    pub fn routes(&self) -> &[Route] {
        &self.result.routes
    }

    /// Name resolution.
    pub fn dns(&self) -> &Dns {
        &self.result.dns
    }

    /// All that an IPAM plugin may say.
    pub fn ipam_result(&self) -> IpamResult {
        self.result.clone().into()
    }

    /// Keeps it: from now on it is given back only when the runtime calls DEL. Gives the delegate's result.
    ///
    /// Last thing before the handler returns its own result.
    pub fn commit(mut self) -> AddResult {
        self.settle();
        std::mem::take(&mut self.result)
    }

    /// Gives it back now.
    ///
    /// # Errors
    ///
    /// As for [`Delegate::del`].
    pub fn undo(mut self) -> Result<()> {
        self.settle().map_or(Ok(()), |delegate| delegate.del())
    }

    /// What is to be called to give it back, once.
    fn settle(&mut self) -> Option<Delegate> {
        #[cfg(panic = "abort")]
        self.pending.remove();
        self.delegate.take()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(delegate) = self.settle() {
            give_back(&delegate);
        }
    }
}

/// Calls DEL where nobody can be given an error: the handler has one already.
fn give_back(delegate: &Delegate) {
    if let Err(error) = delegate.call(cni_invoke::del) {
        let error = ErrorObject::from(&error);
        // A person must know what is left behind; that stderr is closed is not worth a panic.
        let _ = writeln!(io::stderr(), "cannot undo ADD of delegate {:?}: {error}", delegate.plugin.as_str());
    }
}

/// Leases that are neither committed nor given back, for the panic hook: where panics abort, nothing is dropped.
#[cfg(panic = "abort")]
pub(crate) mod pending {
    use std::sync::{Mutex, PoisonError};

    use super::Delegate;

    static PENDING: Mutex<Pending> = Mutex::new(Pending { next: 0, delegates: Vec::new() });

    struct Pending {
        next: u64,
        delegates: Vec<(u64, Delegate)>,
    }

    /// A lease's place among them.
    #[derive(Debug)]
    pub(super) struct Entry(u64);

    impl Entry {
        pub(super) fn new(delegate: &Delegate) -> Self {
            let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
            let id = pending.next;
            pending.next += 1;
            pending.delegates.push((id, delegate.clone()));
            Self(id)
        }

        pub(super) fn remove(&self) {
            let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
            pending.delegates.retain(|(id, _)| *id != self.0);
        }
    }

    /// Gives everything back, the newest first.
    pub(crate) fn give_back_all() {
        loop {
            // The lock is not held while the delegate runs.
            let last = PENDING.lock().unwrap_or_else(PoisonError::into_inner).delegates.pop();
            let Some((_, delegate)) = last else { return };
            super::give_back(&delegate);
        }
    }
}
