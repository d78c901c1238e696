//! Whether the capabilities that a configuration asks for are taken by the plugin, or by the IPAM plugin that it calls
//! with the same configuration.

use libcni::cni_types::config::capability::DOCUMENTED;

use super::document::{Kind, Node};
use super::{Place, Reader, Remarks, join, suggest};

pub(super) fn of_plugin(
    remarks: &mut Remarks<'_>,
    node: Node<'_>,
    path: &str,
    main: Reader<'_>,
    ipam: Option<Reader<'_>>,
) {
    let entries = node.entries();
    let Some(capabilities) = entries.iter().find(|entry| entry.key.eq_ignore_ascii_case("capabilities"))
    else {
        return;
    };
    let readers: Vec<_> = [Some(main), ipam].into_iter().flatten().collect();
    let taken: Vec<&str> = readers
        .iter()
        .filter_map(|reader| reader.description)
        .flat_map(|description| description.capabilities.iter().map(String::as_str))
        .collect();
    // One of them may take anything.
    let is_open = readers.iter().any(|reader| reader.description.is_none());
    for entry in capabilities.value.entries() {
        let is_wanted = entry.value.kind() == Kind::Boolean && entry.value.raw == "true";
        let is_one_of = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(&entry.key));
        if !is_wanted || is_one_of(&taken) {
            continue;
        }
        let path = join(path, &format!("capabilities.{}", entry.key));
        let place = Place { at: entry.at, path: &path };
        if !is_open {
            let nearest = suggest::nearest(&entry.key, taken.iter().copied());
            let message = format!("{}{}", none_of(&readers), takes(&taken));
            remarks.warn("capability", place, message, nearest.map(str::to_owned));
        } else if !is_one_of(&DOCUMENTED)
            && let Some(meant) = suggest::misspelt(&entry.key, DOCUMENTED)
        {
            let message = "there is no such capability in the conventions".to_owned();
            remarks.warn("capability", place, message, Some(meant.to_owned()));
        }
    }
}

fn none_of(readers: &[Reader<'_>]) -> String {
    match readers {
        [main, ipam] => format!("neither {} nor its IPAM plugin {} takes it", main.plugin, ipam.plugin),
        all => {
            let names: Vec<_> = all.iter().map(|reader| reader.plugin.as_str()).collect();
            format!("{} does not take it", names.join(" and "))
        }
    }
}

fn takes(taken: &[&str]) -> String {
    if taken.is_empty() {
        ", nor any other capability".to_owned()
    } else {
        format!(", only {}", taken.join(" and "))
    }
}
