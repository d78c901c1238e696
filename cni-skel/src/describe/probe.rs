//! Finds out which keys a configuration type reads, and what each may be, by asking its `Deserialize`.
//!
//! A type tells the deserializer what it wants, a struct even by the names of its fields. So it is given a deserializer
//! that has nothing to give: it leads to one place of the type, notes what is wanted there, and fails. One such run a
//! place, and the whole is written down as a JSON Schema. What a type does with the values afterwards is not seen.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Value as Json, json};

/// How deep a type is followed; one that holds itself has no end.
const DEPTH: usize = 8;
/// How many places are looked at.
const PLACES: usize = 2_000;
/// By this name a value's text is wanted, whatever it is.
const RAW_VALUE: &str = "$serde_json::private::RawValue";
/// The keys of the protocol's own objects: routes, name resolution, ranges, ports. Their types take any key, and tell of
/// each only when it is there; so these are tried.
const TRIED: [&str; 22] = [
    "address",
    "advmss",
    "containerPort",
    "domain",
    "dst",
    "gateway",
    "gw",
    "hostIP",
    "hostPort",
    "mtu",
    "nameservers",
    "options",
    "priority",
    "protocol",
    "rangeEnd",
    "rangeStart",
    "scope",
    "search",
    "searches",
    "servers",
    "subnet",
    "table",
];
/// No field and no variant has this name.
const NO_NAME: &str = "\u{0}";

/// The JSON Schema of a type whose keys can be told; `None` for one that reads none, or any.
pub(super) fn schema<T: DeserializeOwned>() -> Option<Json> {
    schema_by(&|path| {
        let mut found = Found::default();
        // Nobody gets a value.
        let _ = T::deserialize(Probe { path, found: &mut found });
        found
    })
}

/// The schema, by what is found at the places of a type. Not generic, so that each plugin has it but once.
fn schema_by(look: &dyn Fn(&[Step]) -> Found) -> Option<Json> {
    let mut explorer = Explorer { look, path: Vec::new(), left: PLACES };
    match look(&[]).wanted? {
        Wanted::Struct(_) | Wanted::Map => Some(explorer.explore()),
        _ => None,
    }
}

/// One step into a type.
#[derive(Clone, Copy)]
enum Step {
    /// To the element of a list.
    Element,
    /// To a field, or to the value of a map.
    Key(&'static str),
    /// To a variant.
    Variant(&'static str),
}

/// What is wanted at a place.
#[derive(Default)]
struct Found {
    wanted: Option<Wanted>,
    /// Whether `null` will do as well.
    nullable: bool,
}

/// What a type asks a deserializer for.
#[derive(Clone, Copy)]
enum Wanted {
    /// Whatever there is: the type looks itself.
    Any,
    Bool,
    Enum(&'static [&'static str]),
    Integer(Option<(i64, i64)>),
    List,
    Map,
    /// What is passed over: the type does not know the key.
    Nothing,
    Null,
    Number,
    Struct(&'static [&'static str]),
    Text,
    Tuple,
    UnitVariant,
}

/// Goes from place to place.
struct Explorer<'a> {
    look: &'a dyn Fn(&[Step]) -> Found,
    path: Vec<Step>,
    left: usize,
}

impl Explorer<'_> {
    /// The schema of where the path leads.
    fn explore(&mut self) -> Json {
        if self.path.len() > DEPTH || self.left == 0 {
            return json!({});
        }
        self.left -= 1;
        let Found { wanted, nullable } = (self.look)(&self.path);
        let Some(wanted) = wanted else { return json!({}) };
        let Some(mut schema) = self.schema_of(wanted) else { return json!({}) };
        if nullable {
            if let Some(ty) = schema.remove("type") {
                schema.insert("type".to_owned(), json!([ty, "null"]));
            }
            if let Some(Json::Array(values)) = schema.get_mut("enum") {
                values.push(Json::Null);
            }
        }
        Json::Object(schema)
    }

    /// The schema of a place, if there is anything to say.
    fn schema_of(&mut self, wanted: Wanted) -> Option<Map<String, Json>> {
        let schema = match wanted {
            Wanted::Any | Wanted::Nothing | Wanted::UnitVariant => return None,
            Wanted::Bool => json!({"type": "boolean"}),
            Wanted::Enum(variants) => return self.variants(variants),
            Wanted::Integer(None) => json!({"type": "integer"}),
            Wanted::Integer(Some((least, i64::MAX))) => json!({"type": "integer", "minimum": least}),
            Wanted::Integer(Some((least, most))) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Wanted::List => json!({"type": "array", "items": self.at(Step::Element)}),
            Wanted::Map => self.map(),
            Wanted::Null => json!({"type": "null"}),
            Wanted::Number => json!({"type": "number"}),
            Wanted::Struct(fields) => self.fields(fields),
            Wanted::Text => json!({"type": "string"}),
            Wanted::Tuple => json!({"type": "array"}),
        };
        match schema {
            Json::Object(schema) => Some(schema),
            _ => None,
        }
    }

    fn fields(&mut self, fields: &[&'static str]) -> Json {
        let properties: Map<_, _> =
            fields.iter().map(|field| ((*field).to_owned(), self.at(Step::Key(field)))).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        // A type that passes over what it does not know asks for a value to pass over.
        if self.found(Step::Key(NO_NAME)).is_none() {
            schema["additionalProperties"] = false.into();
        }
        schema
    }

    /// A map has values of one type, or of several that depend on the key.
    fn map(&mut self) -> Json {
        let others = self.at(Step::Key(NO_NAME));
        let mut schema = json!({"type": "object", "additionalProperties": others});
        if schema["additionalProperties"] == json!({}) {
            let tried = TRIED.into_iter().map(|key| (key.to_owned(), self.at(Step::Key(key))));
            let known: Map<_, _> = tried.filter(|(_, schema)| *schema != json!({})).collect();
            if !known.is_empty() {
                schema["properties"] = Json::Object(known);
            }
        }
        schema
    }

    /// An enum is text if none of its variants holds anything, and else has several forms.
    fn variants(&mut self, variants: &[&'static str]) -> Option<Map<String, Json>> {
        let is_unit = |wanted| matches!(wanted, Some(Wanted::UnitVariant));
        if !variants.iter().all(|variant| is_unit(self.found(Step::Variant(variant)))) {
            return None;
        }
        let mut schema = Map::from_iter([("type".to_owned(), "string".into())]);
        // One of them may stand for all that is not known.
        if self.found(Step::Variant(NO_NAME)).is_none() {
            schema.insert("enum".to_owned(), json!(variants));
        }
        Some(schema)
    }

    fn at(&mut self, step: Step) -> Json {
        self.path.push(step);
        let schema = self.explore();
        self.path.pop();
        schema
    }

    fn found(&mut self, step: Step) -> Option<Wanted> {
        self.path.push(step);
        let found = (self.look)(&self.path).wanted;
        self.path.pop();
        found
    }
}

/// A deserializer that leads to a place, and notes what is wanted there.
struct Probe<'a> {
    path: &'a [Step],
    found: &'a mut Found,
}

impl<'a> Probe<'a> {
    /// Notes what is wanted, if this is the place.
    fn note<T>(self, wanted: Wanted) -> Result<T, Looked> {
        if self.path.is_empty() {
            self.found.wanted.get_or_insert(wanted);
        }
        Err(Looked)
    }

    /// The first step, and what is beyond it.
    fn step(self) -> Result<(Step, Self), Self> {
        match self.path.split_first() {
            Some((step, path)) => Ok((*step, Self { path, found: self.found })),
            None => Err(self),
        }
    }

    fn object<'de, V: Visitor<'de>>(self, wanted: Wanted, visitor: V) -> Result<V::Value, Looked> {
        match self.step() {
            Ok((Step::Key(key), probe)) => visitor.visit_map(One { key, probe: Some(probe) }),
            Ok(_) => Err(Looked),
            Err(here) => here.note(wanted),
        }
    }

    fn integer<T>(self, least: i64, most: i64) -> Result<T, Looked> {
        self.note(Wanted::Integer(Some((least, most))))
    }
}

/// The only thing that is there, once.
struct One<'a> {
    key: &'static str,
    probe: Option<Probe<'a>>,
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Looked;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Looked> {
        if self.probe.is_none() {
            return Ok(None);
        }
        seed.deserialize(StrDeserializer::new(self.key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Looked> {
        seed.deserialize(self.probe.take().ok_or(Looked)?)
    }
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Looked;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Looked> {
        self.probe.take().map(|probe| seed.deserialize(probe)).transpose()
    }
}

impl<'de, 'a> EnumAccess<'de> for One<'a> {
    type Error = Looked;
    type Variant = Probe<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Probe<'a>), Looked> {
        let variant = seed.deserialize(StrDeserializer::new(self.key))?;
        Ok((variant, self.probe.ok_or(Looked)?))
    }
}

impl<'de> VariantAccess<'de> for Probe<'_> {
    type Error = Looked;

    fn unit_variant(self) -> Result<(), Looked> {
        self.note(Wanted::UnitVariant)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, Looked> {
        self.note(Wanted::Any)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Looked> {
        self.note(Wanted::Any)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Looked> {
        self.note(Wanted::Any)
    }
}

/// Methods that want one thing and go nowhere.
macro_rules! leaves {
    ($($method:ident => |$probe:ident| $note:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Looked> {
            let $probe = self;
            $note
        })*
    };
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Looked;

    leaves! {
        deserialize_any => |probe| probe.note(Wanted::Any);
        deserialize_bool => |probe| probe.note(Wanted::Bool);
        deserialize_byte_buf => |probe| probe.note(Wanted::Any);
        deserialize_bytes => |probe| probe.note(Wanted::Any);
        deserialize_char => |probe| probe.note(Wanted::Text);
        deserialize_f32 => |probe| probe.note(Wanted::Number);
        deserialize_f64 => |probe| probe.note(Wanted::Number);
        deserialize_i8 => |probe| probe.integer(i8::MIN.into(), i8::MAX.into());
        deserialize_i16 => |probe| probe.integer(i16::MIN.into(), i16::MAX.into());
        deserialize_i32 => |probe| probe.integer(i32::MIN.into(), i32::MAX.into());
        deserialize_i64 => |probe| probe.note(Wanted::Integer(None));
        deserialize_i128 => |probe| probe.note(Wanted::Integer(None));
        deserialize_identifier => |probe| probe.note(Wanted::Any);
        deserialize_ignored_any => |probe| probe.note(Wanted::Nothing);
        deserialize_str => |probe| probe.note(Wanted::Text);
        deserialize_string => |probe| probe.note(Wanted::Text);
        deserialize_u8 => |probe| probe.integer(0, u8::MAX.into());
        deserialize_u16 => |probe| probe.integer(0, u16::MAX.into());
        deserialize_u32 => |probe| probe.integer(0, u32::MAX.into());
        deserialize_u64 => |probe| probe.integer(0, i64::MAX);
        deserialize_u128 => |probe| probe.integer(0, i64::MAX);
        deserialize_unit => |probe| probe.note(Wanted::Null);
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Looked> {
        self.object(Wanted::Map, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Looked> {
        self.object(Wanted::Struct(fields), visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Looked> {
        match self.step() {
            Ok((Step::Element, probe)) => visitor.visit_seq(One { key: NO_NAME, probe: Some(probe) }),
            Ok(_) => Err(Looked),
            Err(here) => here.note(Wanted::List),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Looked> {
        match self.step() {
            Ok((Step::Variant(key), probe)) => visitor.visit_enum(One { key, probe: Some(probe) }),
            Ok(_) => Err(Looked),
            Err(here) => here.note(Wanted::Enum(variants)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Looked> {
        if self.path.is_empty() {
            self.found.nullable = true;
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Looked> {
        if name == RAW_VALUE { self.note(Wanted::Any) } else { visitor.visit_newtype_struct(self) }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Looked> {
        self.note(Wanted::Tuple)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        _: V,
    ) -> Result<V::Value, Looked> {
        self.note(Wanted::Tuple)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, _: V) -> Result<V::Value, Looked> {
        self.note(Wanted::Null)
    }
}

/// The end of every run.
#[derive(Debug)]
struct Looked;

impl serde::de::Error for Looked {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl fmt::Display for Looked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("looked at")
    }
}

impl std::error::Error for Looked {}

#[cfg(test)]
mod tests;
