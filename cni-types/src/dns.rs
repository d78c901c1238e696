//! Name resolution, as results and configurations carry it.

use crate::wire::{ExtraKeys, TextIfAny, TextList, wire_object};

/// What a container should put into its `resolv.conf`.
///
/// Nothing here is checked beyond its type: a name server may be any text that the runtime's resolver takes.
///
/// ```
/// use cni_types::Dns;
/// let mut dns = Dns::default();
/// dns.nameservers.push("10.1.0.1".to_owned());
/// assert_eq!(serde_json::to_string(&dns)?, r#"{"nameservers":["10.1.0.1"]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dns {
    /// Addresses of name servers, in order of priority.
    pub nameservers: Vec<String>,
    /// The local domain for short host names; empty means none.
    pub domain: String,
    /// Search domains for short host names, in order of priority.
    pub search: Vec<String>,
    /// Options for the resolver.
    pub options: Vec<String>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

wire_object! {
    Dns {
        "nameservers" => nameservers: TextList,
        "domain" => domain: TextIfAny,
        "search" => search: TextList,
        "options" => options: TextList,
    }
}

impl Dns {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        // Keys that are set aside for another layout are none of this one.
        let Self { nameservers, domain, search, options, extra } = self;
        nameservers.is_empty()
            && domain.is_empty()
            && search.is_empty()
            && options.is_empty()
            && extra.is_empty()
    }
}
