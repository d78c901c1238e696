//! The attachments that GC must leave alone.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::PluginConfig;
use crate::RawJson;
use crate::error::{DecodeError, offset_of};
use crate::wire::{self, Borrowed, Codec, Distinct, ExtraKeys, Key, KeySeed, Slot};

/// The key under which a runtime sends the valid attachments.
pub const VALID_ATTACHMENTS: &str = "cni.dev/valid-attachments";
/// The key that early runtimes used; sent beside the other, and read when that is absent.
pub const VALID_ATTACHMENTS_OLD: &str = "cni.dev/attachments";

const CONTAINER_ID: &str = "containerID";
const IFNAME: &str = "ifname";

/// One attachment of a container to a network: container and interface.
///
/// ```
/// use cni_types::config::Attachment;
/// let valid = Attachment::new("c1", "eth0");
/// assert_eq!((valid.container_id(), valid.ifname()), ("c1", "eth0"));
/// assert_eq!(serde_json::to_string(&valid)?, r#"{"containerID":"c1","ifname":"eth0"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// See [the spec](https://github.com/containernetworking/cni/blob/main/SPEC.md#gc-clean-up-any-stale-resources).
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Attachment {
    /// Text that holds both names: the request where it came in one, so that a hundred thousand need no memory of their own.
    text: Arc<Vec<u8>>,
    container_id: Range<usize>,
    ifname: Range<usize>,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

impl Attachment {
    /// An attachment of a container by an interface.
    pub fn new(container_id: impl AsRef<str>, ifname: impl AsRef<str>) -> Self {
        let text = Arc::new([container_id.as_ref(), ifname.as_ref()].concat().into_bytes());
        let (middle, end) = (container_id.as_ref().len(), text.len());
        Self { text, container_id: 0..middle, ifname: middle..end, extra: ExtraKeys::default() }
    }

    /// The container's ID.
    pub fn container_id(&self) -> &str {
        self.at(&self.container_id)
    }

    /// The name of the interface inside the container.
    pub fn ifname(&self) -> &str {
        self.at(&self.ifname)
    }

    fn at(&self, place: &Range<usize>) -> &str {
        // Only ever the place of text: where it came from, it was `str`.
        let bytes = self.text.get(place.clone()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Whether both are the same; unknown keys do not count.
    pub fn is(&self, container_id: &str, ifname: &str) -> bool {
        self.container_id() == container_id && self.ifname() == ifname
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment")
            .field("container_id", &self.container_id())
            .field("ifname", &self.ifname())
            .field("extra", &self.extra)
            .finish()
    }
}

impl Serialize for Attachment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(CONTAINER_ID, self.container_id())?;
        map.serialize_entry(IFNAME, self.ifname())?;
        for (key, value) in self.extra.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl PartialEq for Attachment {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.container_id(), other.ifname()) && self.extra == other.extra
    }
}

impl Eq for Attachment {}

impl<'de> Deserialize<'de> for Attachment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Found::deserialize(deserializer).map(|found| found.into_attachment(None))
    }
}

/// An attachment as it stands in its document.
struct Found<'de> {
    container_id: Cow<'de, str>,
    ifname: Cow<'de, str>,
    extra: ExtraKeys,
}

impl Found<'_> {
    /// The attachment, which keeps the document if that is the one that it stands in.
    fn into_attachment(self, document: Option<&Arc<Vec<u8>>>) -> Attachment {
        let Self { container_id, ifname, extra } = self;
        let places = document.and_then(|document| {
            let place = |name: &str| {
                let start = offset_of(document, name.as_bytes())?;
                Some(start..start + name.len())
            };
            Some((document, place(&container_id)?, place(&ifname)?))
        });
        match places {
            Some((document, container_id, ifname)) => {
                Attachment { text: document.clone(), container_id, ifname, extra }
            }
            None => Attachment { extra, ..Attachment::new(container_id, ifname) },
        }
    }
}

impl<'de> Deserialize<'de> for Found<'de> {
    /// As `wire_object!` reads, but without copies of the names.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FoundVisitor;

        impl<'de> Visitor<'de> for FoundVisitor {
            type Value = Found<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
                let (mut container_id, mut ifname) = (Slot::EMPTY, Slot::EMPTY);
                let mut extra = Distinct::<RawJson>::new();
                while let Some(key) = map.next_key_seed(KeySeed(&[CONTAINER_ID, IFNAME]))? {
                    match key {
                        Key::Known(0, exact) => container_id.set(map.next_value()?, exact),
                        Key::Known(_, exact) => ifname.set(map.next_value()?, exact),
                        Key::Unknown(key) => extra.set(key, wire::unknown_value(&mut map)?),
                    }
                }
                let text =
                    |slot: Slot<Borrowed<'de>>| slot.take().map(|Borrowed(text)| text).unwrap_or_default();
                Ok(Found { container_id: text(container_id), ifname: text(ifname), extra: extra.into() })
            }
        }

        deserializer.deserialize_map(FoundVisitor)
    }
}

/// The value of a key that lists attachments. `null` is a value like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttachmentList {
    Good(Option<Vec<Attachment>>),
    /// Its text, which other commands than GC pass on, and what is wrong with it.
    Faulty(Box<(RawJson, DecodeError)>),
}

impl AttachmentList {
    fn read(text: RawJson) -> Self {
        match wire::decode("", text.as_str().as_bytes()) {
            Ok(list) => Self::good(list, None),
            Err(fault) => Self::Faulty(Box::new((text, fault))),
        }
    }

    /// A list as it was found; its attachments keep the document if there is one to keep.
    fn good(list: FoundList<'_>, document: Option<&Arc<Vec<u8>>>) -> Self {
        Self::Good(list.map(|list| list.into_iter().map(|found| found.into_attachment(document)).collect()))
    }
}

impl Serialize for AttachmentList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Good(list) => list.serialize(serializer),
            Self::Faulty(faulty) => faulty.0.serialize(serializer),
        }
    }
}

/// A list of attachments that may be faulty: only GC looks at it.
pub(super) struct Listed;

impl Codec for Listed {
    type Value = Option<AttachmentList>;

    fn absent() -> Self::Value {
        None
    }

    fn read<'de, A: MapAccess<'de>>(place: &mut Self::Value, map: &mut A) -> Result<bool, A::Error> {
        *place = Some(AttachmentList::read(map.next_value()?));
        Ok(true)
    }

    fn says_nothing(value: &Self::Value) -> bool {
        value.is_none()
    }
}

/// How the lists of attachments in a configuration are read.
#[derive(Clone, Copy)]
pub(super) enum Lists {
    /// From the document: a list of ten megabytes is neither gone through twice nor kept as text beside. The
    /// configuration cannot be read where one of them is faulty.
    Straight,
    /// By way of their text, as [`PluginConfig`] is read by itself.
    ByText,
}

/// A configuration, and the lists of attachments that were read straight.
pub(super) struct Straight<'de> {
    config: PluginConfig,
    valid: Option<FoundList<'de>>,
    old: Option<FoundList<'de>>,
}

type FoundList<'de> = Option<Vec<Found<'de>>>;

impl Straight<'_> {
    /// The configuration, whose attachments keep the document if there is one to keep.
    pub(super) fn into_config(self, document: Option<&Arc<Vec<u8>>>) -> PluginConfig {
        let Self { mut config, valid, old } = self;
        if let Some(list) = valid {
            config.valid_attachments = Some(AttachmentList::good(list, document));
        }
        if let Some(list) = old {
            config.attachments_old = Some(AttachmentList::good(list, document));
        }
        config
    }
}

impl<'de> DeserializeSeed<'de> for Lists {
    type Value = Straight<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Straight<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Lists {
    type Value = Straight<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Straight<'de>, A::Error> {
        let mut rest = Rest { map, lists: self, valid: Slot::EMPTY, old: Slot::EMPTY };
        let config = PluginConfig::deserialize(MapAccessDeserializer::new(&mut rest))?;
        Ok(Straight { config, valid: rest.valid.take(), old: rest.old.take() })
    }
}

/// The entries of a configuration but for the lists that are read straight, on the way.
struct Rest<'de, A> {
    map: A,
    lists: Lists,
    valid: Slot<FoundList<'de>>,
    old: Slot<FoundList<'de>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Borrowed(key)) = self.map.next_key()? {
            let list = match self.lists {
                Lists::Straight if key.eq_ignore_ascii_case(VALID_ATTACHMENTS) => &mut self.valid,
                Lists::Straight if key.eq_ignore_ascii_case(VALID_ATTACHMENTS_OLD) => &mut self.old,
                Lists::Straight | Lists::ByText => {
                    return seed.deserialize(StrDeserializer::new(&key)).map(Some);
                }
            };
            let exact = key == VALID_ATTACHMENTS || key == VALID_ATTACHMENTS_OLD;
            list.set(Some(self.map.next_value()?), exact);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
