//! The attachments that GC must leave alone.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::PluginConfig;
use crate::RawJson;
use crate::error::{DecodeError, offset_of};
use crate::wire::{self, Borrowed, Codec, Distinct, ExtraKeys, InPlace, Key, KeySeed, Slot};

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
        let mut list = Vec::with_capacity(1);
        One { document: None, list: &mut list }.deserialize(deserializer)?;
        Ok(list.pop().unwrap_or_default())
    }
}

/// The document that attachments are to keep if they stand in it, and if there is one to keep.
type Document<'d> = Option<&'d Arc<Vec<u8>>>;

/// Reads an attachment onto the end of a list: as `wire_object!` does, but without copies of the names, and without
/// moving what was read, of which there may be a hundred thousand.
struct One<'d, 'l> {
    document: Document<'d>,
    list: &'l mut Vec<Attachment>,
}

impl<'de> DeserializeSeed<'de> for One<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut container_id, mut ifname) = (Slot::EMPTY, Slot::EMPTY);
        let mut extra = Distinct::<RawJson>::new();
        while let Some(key) = map.next_key_seed(KeySeed(&[CONTAINER_ID, IFNAME]))? {
            let (slot, exact) = match key {
                Key::Known(0, exact) => (&mut container_id, exact),
                Key::Known(_, exact) => (&mut ifname, exact),
                Key::Unknown(key) => {
                    extra.set(key, wire::unknown_value(&mut map)?);
                    continue;
                }
            };
            map.next_value_seed(Name { slot, exact })?;
        }
        let container_id: Cow<'_, str> = container_id.take().unwrap_or_default();
        let ifname: Cow<'_, str> = ifname.take().unwrap_or_default();
        let places = self.document.and_then(|document| {
            let place = |name: &str| {
                let start = offset_of(document, name.as_bytes())?;
                Some(start..start + name.len())
            };
            Some((document, place(&container_id)?, place(&ifname)?))
        });
        let extra = extra.into();
        self.list.push(match places {
            Some((document, container_id, ifname)) => {
                Attachment { text: document.clone(), container_id, ifname, extra }
            }
            None => Attachment { extra, ..Attachment::new(container_id, ifname) },
        });
        Ok(())
    }
}

/// Reads a name, or `null`, as it stands in the document.
struct Name<'s, 'de> {
    slot: &'s mut Slot<Cow<'de, str>>,
    exact: bool,
}

impl<'de> DeserializeSeed<'de> for Name<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Name<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.slot.set(None, self.exact);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<(), E> {
        self.slot.set(Some(Cow::Borrowed(name)), self.exact);
        Ok(())
    }

    fn visit_str<E>(self, name: &str) -> Result<(), E> {
        self.slot.set(Some(Cow::Owned(name.to_owned())), self.exact);
        Ok(())
    }
}

/// Reads a list of them, or `null`.
#[derive(Clone, Copy)]
struct All<'d>(Document<'d>);

impl<'de> DeserializeSeed<'de> for All<'_> {
    type Value = Option<Vec<Attachment>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for All<'_> {
    type Value = Option<Vec<Attachment>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while list.next_element_seed(One { document: self.0, list: &mut all })?.is_some() {}
        Ok(Some(all))
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
        match wire::decode_by(All(None), "", text.as_str().as_bytes()) {
            Ok(list) => Self::Good(list),
            Err(fault) => Self::Faulty(Box::new((text, fault))),
        }
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
pub(super) enum Lists<'d> {
    /// From the document: a list of ten megabytes is neither gone through twice nor kept as text beside. The
    /// configuration cannot be read where one of them is faulty.
    Straight(Document<'d>),
    /// By way of their text, as [`PluginConfig`] is read by itself.
    ByText,
}

impl<'de> DeserializeSeed<'de> for Lists<'_> {
    type Value = PluginConfig;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PluginConfig, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Lists<'_> {
    type Value = PluginConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PluginConfig, A::Error> {
        let mut rest = Rest { map, lists: self, valid: Slot::EMPTY, old: Slot::EMPTY };
        let mut config = PluginConfig::default();
        InPlace(&mut config).visit_map(&mut rest)?;
        if let Some(list) = rest.valid.take() {
            config.valid_attachments = Some(AttachmentList::Good(list));
        }
        if let Some(list) = rest.old.take() {
            config.attachments_old = Some(AttachmentList::Good(list));
        }
        Ok(config)
    }
}

/// The entries of a configuration but for the lists that are read straight, on the way.
struct Rest<'d, A> {
    map: A,
    lists: Lists<'d>,
    valid: Slot<Option<Vec<Attachment>>>,
    old: Slot<Option<Vec<Attachment>>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Borrowed(key)) = self.map.next_key()? {
            let (list, document) = match self.lists {
                Lists::Straight(document) if key.eq_ignore_ascii_case(VALID_ATTACHMENTS) => {
                    (&mut self.valid, document)
                }
                Lists::Straight(document) if key.eq_ignore_ascii_case(VALID_ATTACHMENTS_OLD) => {
                    (&mut self.old, document)
                }
                Lists::Straight(_) | Lists::ByText => {
                    return seed.deserialize(StrDeserializer::new(&key)).map(Some);
                }
            };
            let exact = key == VALID_ATTACHMENTS || key == VALID_ATTACHMENTS_OLD;
            list.set(Some(self.map.next_value_seed(All(document))?), exact);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
