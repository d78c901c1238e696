//! The attachments that GC must leave alone.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::PluginConfig;
use crate::RawJson;
use crate::error::DecodeError;
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
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment {
    /// Container ID and interface name in one piece of memory, of which a request asks for a hundred thousand.
    names: Box<str>,
    /// Where the interface's name begins.
    ifname_at: usize,
    /// Keys that this crate does not know.
    pub extra: ExtraKeys,
}

impl Attachment {
    /// An attachment of a container by an interface.
    pub fn new(container_id: impl AsRef<str>, ifname: impl AsRef<str>) -> Self {
        let (container_id, ifname) = (container_id.as_ref(), ifname.as_ref());
        let mut names = String::with_capacity(container_id.len() + ifname.len());
        names.push_str(container_id);
        names.push_str(ifname);
        Self { names: names.into(), ifname_at: container_id.len(), extra: ExtraKeys::default() }
    }

    /// The container's ID.
    pub fn container_id(&self) -> &str {
        self.names.split_at(self.ifname_at).0
    }

    /// The name of the interface inside the container.
    pub fn ifname(&self) -> &str {
        self.names.split_at(self.ifname_at).1
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

impl<'de> Deserialize<'de> for Attachment {
    /// As `wire_object!` reads, but that no name is copied twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AttachmentVisitor;

        impl<'de> Visitor<'de> for AttachmentVisitor {
            type Value = Attachment;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attachment, A::Error> {
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
                let attachment = Attachment::new(text(container_id), text(ifname));
                Ok(Attachment { extra: extra.into(), ..attachment })
            }
        }

        deserializer.deserialize_map(AttachmentVisitor)
    }
}

/// The value of a key that lists attachments. `null` is a value like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttachmentList {
    Good(Option<Vec<Attachment>>),
    /// Its text, which other commands than GC pass on, and what is wrong with it.
    Faulty(Box<(RawJson, DecodeError)>),
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

    fn decode<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Self::Value>, A::Error> {
        let text: RawJson = map.next_value()?;
        Ok(Some(Some(match wire::decode("", text.as_str().as_bytes()) {
            Ok(list) => AttachmentList::Good(list),
            Err(fault) => AttachmentList::Faulty(Box::new((text, fault))),
        })))
    }

    fn absent<E: Error>(_: &'static str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn says_nothing(value: &Self::Value) -> bool {
        value.is_none()
    }
}

/// A configuration whose lists of attachments are read straight from the document: a list of ten megabytes is neither
/// gone through twice nor kept as text beside. Unlike [`PluginConfig`], it cannot be read where one of them is faulty.
pub(super) struct Straight(pub(super) PluginConfig);

impl<'de> Deserialize<'de> for Straight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StraightVisitor;

        impl<'de> Visitor<'de> for StraightVisitor {
            type Value = Straight;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Straight, A::Error> {
                let mut rest = Rest { map, valid: Slot::EMPTY, old: Slot::EMPTY };
                let mut config = PluginConfig::deserialize(MapAccessDeserializer::new(&mut rest))?;
                config.valid_attachments = rest.valid.take().map(AttachmentList::Good);
                config.attachments_old = rest.old.take().map(AttachmentList::Good);
                Ok(Straight(config))
            }
        }

        deserializer.deserialize_map(StraightVisitor)
    }
}

/// The entries of a configuration but for the lists, which are read on the way.
struct Rest<A> {
    map: A,
    valid: Slot<Option<Vec<Attachment>>>,
    old: Slot<Option<Vec<Attachment>>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Borrowed(key)) = self.map.next_key()? {
            let list = if key.eq_ignore_ascii_case(VALID_ATTACHMENTS) {
                &mut self.valid
            } else if key.eq_ignore_ascii_case(VALID_ATTACHMENTS_OLD) {
                &mut self.old
            } else {
                return seed.deserialize(StrDeserializer::new(&key)).map(Some);
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
