//! Which keys of a configuration are known to those who read it, and whether their values fit.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::document::{Kind, Node};
use super::schema::{Schema, View, shown};
use super::{Place, Reader, Remarks, join, suggest};

/// The keys of a list, which count in this spelling alone.
const LIST: [&str; 7] =
    ["cniVersion", "cniVersions", "disableCheck", "disableGC", "loadOnlyInlinedPlugins", "name", "plugins"];

/// The keys of the protocol in a plugin's configuration. Whether a plugin heeds `ipMasq` is its own business.
const PROTOCOL: [&str; 11] = [
    "args",
    "capabilities",
    "cni.dev/attachments",
    "cni.dev/valid-attachments",
    "cniVersion",
    "dns",
    "ipMasq",
    "ipam",
    "name",
    "prevResult",
    "runtimeConfig",
];

/// Those of them that people write, so that others may be meant for them.
const WRITTEN: [&str; 6] = ["args", "capabilities", "dns", "ipMasq", "ipam", "type"];

/// The keys of `dns`.
const DNS: [&str; 4] = ["domain", "nameservers", "options", "search"];

/// Tells of a list's own keys. Tools keep notes of their own there, so only what is very like a key is told.
pub(super) fn of_list(remarks: &mut Remarks<'_>, root: Node<'_>) {
    let entries = root.entries();
    let is_there = |name: &&str| entries.iter().any(|entry| entry.key == **name);
    let absent: Vec<_> = LIST.into_iter().filter(|name| !is_there(name)).collect();
    for entry in entries.iter().filter(|entry| !LIST.contains(&entry.key.as_str())) {
        let other_case = LIST.into_iter().find(|name| name.eq_ignore_ascii_case(&entry.key));
        let meant = other_case.or_else(|| suggest::misspelt(&entry.key, absent.iter().copied()));
        if let Some(meant) = meant.filter(|_| !is_remark(&entry.key)) {
            let place = Place { at: entry.at, path: &entry.key };
            let message = if other_case.is_some() {
                "the keys of a list count in their exact spelling alone"
            } else {
                "not a key of a list"
            };
            remarks.warn("unknown-key", place, message.to_owned(), Some(meant.to_owned()));
        }
    }
}

/// Tells of the keys of one plugin's configuration, and of the values of those that are known.
pub(super) fn of_plugin(
    remarks: &mut Remarks<'_>,
    node: Node<'_>,
    path: &str,
    main: Reader<'_>,
    ipam: Option<Reader<'_>>,
) {
    let readers = [Some(main), ipam].into_iter().flatten();
    let whole: Vec<_> = readers.clone().map(|reader| (reader, reader.schema().map(Schema::new))).collect();
    let mut walk = Walk { remarks, main, ipam };
    let known = whole.iter().filter_map(|(reader, schema)| {
        let schema = schema.as_ref()?;
        Some(Known { reader: *reader, schema, of: vec![schema.root()] })
    });
    walk.value(node, path, known.collect(), Part::Whole);
}

/// Which part of the configuration a value is, for what is known of it beside schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// For every plugin, so that no key is anybody's in particular.
    Args,
    /// The IPAM plugin's own.
    Ipam,
    /// Whatever a plugin's key holds.
    Own,
    Whole,
}

/// What a reader says of a value: it fits if it fits one of the schemas.
struct Known<'s> {
    reader: Reader<'s>,
    schema: &'s Schema<'s>,
    of: Vec<&'s Json>,
}

/// What a reader says of a value that fits.
struct Seen<'s> {
    reader: Reader<'s>,
    schema: &'s Schema<'s>,
    views: Vec<View<'s>>,
}

impl<'s> Seen<'s> {
    fn knows(&self, key: &str) -> bool {
        self.views.iter().any(|view| view.property(key).is_some())
    }

    fn is_open(&self) -> bool {
        self.views.iter().any(|view| view.is_open())
    }

    fn names(&self) -> impl Iterator<Item = &'s str> {
        self.views.iter().flat_map(|view| view.properties()).map(|(name, _)| name)
    }

    /// What is said of the value of a key.
    fn of(&self, key: &str) -> Vec<&'s Json> {
        let told: Vec<_> = self.views.iter().filter_map(|view| view.property(key)).collect();
        if told.is_empty() { self.views.iter().filter_map(|view| view.more()).collect() } else { told }
    }
}

/// The keys of an object, in lower case.
type Present = HashSet<String>;

struct Walk<'a, 'd> {
    remarks: &'a mut Remarks<'d>,
    main: Reader<'a>,
    ipam: Option<Reader<'a>>,
}

impl Walk<'_, '_> {
    fn value(&mut self, node: Node<'_>, path: &str, known: Vec<Known<'_>>, part: Part) {
        let mut seen = Vec::new();
        let mut is_told = false;
        for Known { reader, schema, of } in known {
            let (mut views, mut misfits) = (Vec::new(), Vec::new());
            for one in of {
                match schema.fit(one, node) {
                    Ok(more) => views.extend(more),
                    Err(misfit) => misfits.push(misfit),
                }
            }
            if !views.is_empty() {
                seen.push(Seen { reader, schema, views });
            } else if let Some(misfit) = misfits.into_iter().next()
                && !is_told
            {
                is_told = true;
                let what = if misfit.right_type { "value" } else { "type" };
                let expected = misfit.expected.join(" or ");
                let by = reader.plugin;
                let message = format!("invalid {what}: {}, {by} expects {expected}", shown(node));
                self.remarks.error("invalid-value", Place { at: node.at, path }, message, None);
            }
        }
        match node.kind() {
            Kind::Object => self.object(node, path, &seen, part),
            Kind::List => {
                for (index, element) in node.elements().into_iter().enumerate() {
                    let known = seen.iter().map(|seen| Known {
                        of: seen.views.iter().filter_map(|view| view.element(index)).collect(),
                        reader: seen.reader,
                        schema: seen.schema,
                    });
                    self.value(element, &format!("{path}[{index}]"), known.collect(), Part::Own);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, node: Node<'_>, path: &str, seen: &[Seen<'_>], part: Part) {
        let entries = node.entries();
        let present = entries.iter().map(|entry| entry.key.to_ascii_lowercase()).collect();
        self.missing(node, &present, path, seen, part);
        for entry in &entries {
            let key = entry.key.as_str();
            let is_key = |name: &str| key.eq_ignore_ascii_case(name);
            let path = join(path, key);
            let place = Place { at: entry.at, path: &path };
            let is_protocol = match part {
                Part::Whole => is_key("type") || PROTOCOL.into_iter().any(is_key),
                Part::Ipam => is_key("type"),
                Part::Args | Part::Own => false,
            };
            if !is_protocol && !seen.iter().any(|seen| seen.knows(key)) {
                self.unknown(key, place, &present, seen, part);
            } else if !is_protocol && part == Part::Whole {
                self.refused(key, place, seen);
            }
            // What a runtime puts there itself.
            if part == Part::Whole && (is_key("runtimeConfig") || is_key("prevResult")) {
                continue;
            }
            if part == Part::Whole && is_key("dns") {
                self.dns(entry.value, &path);
            }
            let known =
                seen.iter().map(|seen| Known { reader: seen.reader, schema: seen.schema, of: seen.of(key) });
            let part = match part {
                Part::Whole if is_key("ipam") => Part::Ipam,
                Part::Whole if is_key("args") => Part::Args,
                Part::Args => Part::Args,
                _ => Part::Own,
            };
            self.value(entry.value, &path, known.filter(|known| !known.of.is_empty()).collect(), part);
        }
    }

    /// Tells of keys that must be there. The runtime adds those of the protocol.
    fn missing(&mut self, node: Node<'_>, present: &Present, path: &str, seen: &[Seen<'_>], part: Part) {
        for Seen { reader, views, .. } in seen {
            let [view] = views.as_slice() else { continue };
            let is_there = |name: &str| present.contains(&name.to_ascii_lowercase());
            let is_added = |name: &str| part == Part::Whole && PROTOCOL.contains(&name);
            for name in view.required().filter(|name| !is_there(name) && !is_added(name)) {
                let message = format!("missing, {} needs it", reader.plugin);
                let path = join(path, name);
                self.remarks.error("missing-key", Place { at: node.at, path: &path }, message, None);
            }
        }
    }

    /// Tells of a key that no schema has, unless somebody may know it.
    fn unknown(&mut self, key: &str, place: Place<'_>, present: &Present, seen: &[Seen<'_>], part: Part) {
        let is_absent = |name: &&str| !present.contains(&name.to_ascii_lowercase());
        let mut names: Vec<&str> = seen.iter().flat_map(Seen::names).collect();
        if part == Part::Whole {
            names.extend(WRITTEN);
        } else if part == Part::Ipam {
            names.push("type");
        }
        names.retain(|name| is_absent(name) && !(part == Part::Whole && is_injected(name)));
        if part == Part::Args || (part == Part::Whole && self.refused(key, place, seen)) {
            return;
        }
        if seen.iter().any(|seen| seen.views.iter().all(|view| view.is_closed())) && part != Part::Whole {
            let by = seen.iter().map(|seen| seen.reader.plugin.to_string()).collect::<Vec<_>>().join(" and ");
            let nearest = suggest::nearest(key, names).map(str::to_owned);
            return self.remarks.error(
                "unknown-key",
                place,
                format!("{by} refuses a key that is unknown"),
                nearest,
            );
        }
        if is_remark(key) || self.remarks.has_warned_enough() {
            return;
        }
        // Who would have to know it, and whether all of them tell what they know.
        let is_told = |reader: Reader<'_>| {
            seen.iter().any(|seen| seen.reader.plugin == reader.plugin && !seen.is_open())
        };
        let readers: Vec<_> = match part {
            Part::Whole => [Some(self.main), self.ipam].into_iter().flatten().collect(),
            Part::Ipam => self.ipam.into_iter().collect(),
            Part::Args | Part::Own => seen.iter().map(|seen| seen.reader).collect(),
        };
        if readers.is_empty() || !readers.iter().all(|reader| is_told(*reader)) {
            if let Some(meant) = suggest::misspelt(key, names) {
                let message = "perhaps misspelt".to_owned();
                self.remarks.warn("unknown-key", place, message, Some(meant.to_owned()));
            }
            return;
        }
        let by = match readers.as_slice() {
            [main, ipam] if part == Part::Whole => {
                format!("neither {} nor its IPAM plugin {} reads it", main.plugin, ipam.plugin)
            }
            all => {
                let names: Vec<_> = all.iter().map(|reader| reader.plugin.as_str()).collect();
                format!("{} does not read it", names.join(" and "))
            }
        };
        match self.elsewhere(key, part) {
            Some(who) => self.remarks.warn("unknown-key", place, format!("{by}; {who}"), None),
            None => {
                let nearest = suggest::nearest(key, names).map(str::to_owned);
                self.remarks.warn("unknown-key", place, by, nearest);
            }
        }
    }

    /// Tells of a key that a plugin refuses because it does not know it, be it another one's.
    fn refused(&mut self, key: &str, place: Place<'_>, seen: &[Seen<'_>]) -> bool {
        let refuses = |seen: &&Seen<'_>| {
            let denies = seen.reader.description.is_some_and(|description| description.denies_unknown_keys);
            let is_closed = seen.views.iter().all(|view| view.is_closed());
            !seen.knows(key) && (is_closed || (denies && !seen.is_open()))
        };
        let Some(by) = seen.iter().find(refuses) else { return false };
        let nearest = suggest::nearest(key, by.names().chain(WRITTEN)).map(str::to_owned);
        let message = format!("{} refuses a key that is unknown", by.reader.plugin);
        self.remarks.error("unknown-key", place, message, nearest);
        true
    }

    /// Who would read a key somewhere else.
    fn elsewhere(&self, key: &str, part: Part) -> Option<String> {
        let (reader, is_inside) = match part {
            Part::Whole => (self.ipam?, true),
            Part::Ipam => (self.main, false),
            Part::Args | Part::Own => return None,
        };
        let schema = Schema::new(reader.schema()?);
        let mut views = schema.views(schema.root());
        if is_inside {
            let inside = views.into_iter().filter_map(|view| view.property("ipam"));
            views = inside.flat_map(|ipam| schema.views(ipam)).collect();
        }
        let place = if is_inside { "in" } else { "outside of" };
        let is_there = views.into_iter().any(|view| view.property(key).is_some());
        is_there.then(|| format!("{} does, {place} \"ipam\"", reader.plugin))
    }

    fn dns(&mut self, node: Node<'_>, path: &str) {
        let entries = node.entries();
        let is_there = |name: &&str| entries.iter().any(|entry| entry.key.eq_ignore_ascii_case(name));
        let absent: Vec<_> = DNS.into_iter().filter(|name| !is_there(name)).collect();
        for entry in entries.iter().filter(|entry| !is_remark(&entry.key)) {
            let is_known = DNS.iter().any(|name| name.eq_ignore_ascii_case(&entry.key));
            if let Some(meant) = suggest::misspelt(&entry.key, absent.iter().copied()).filter(|_| !is_known) {
                let path = join(path, &entry.key);
                let place = Place { at: entry.at, path: &path };
                let message = "not a key of dns".to_owned();
                self.remarks.warn("unknown-key", place, message, Some(meant.to_owned()));
            }
        }
    }
}

/// Whether the runtime writes a key itself, so that nobody means it.
fn is_injected(name: &str) -> bool {
    PROTOCOL.contains(&name) && !WRITTEN.contains(&name)
}

/// Whether a key is there for people, or for another program than the plugin.
fn is_remark(key: &str) -> bool {
    let is_noted = key.starts_with(['_', '#', '/', '$', '@', '-', '.']) || key.starts_with("x-");
    let words = ["comment", "comments", "description", "doc"];
    is_noted || key.contains(['/', '.', ' ']) || words.iter().any(|word| key.eq_ignore_ascii_case(word))
}
