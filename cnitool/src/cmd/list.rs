//! `list`: the networks that there are, and the files that give none.

use std::fs;
use std::path::PathBuf;

use libcni::cni_types::config::NetworkList;
use libcni::{Network, Scan};

use super::Context;
use crate::failure::Failure;
use crate::output::{Listing, Unread};

pub(super) fn run(context: &Context<'_>) -> Result<(), Failure> {
    context.console.redaction().learn_files(&context.settings.conf_dir);
    let scan = Scan::read(&context.settings.conf_dir)?;
    let unread = scan.networks.iter().flat_map(unread).collect();
    context.console.show(&Listing { scan, unread })
}

/// The files beside a list that look as if they were plugins of it, and are not.
fn unread(network: &Network) -> Vec<Unread> {
    let Some(file) = network.file().filter(|file| file.extension().is_some_and(|it| it == "conflist")) else {
        return Vec::new();
    };
    let folder = file.with_file_name(network.name().as_str());
    let only_inlined = NetworkList::decode(network.bytes()).is_ok_and(|list| list.load_only_inlined_plugins);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_read = |file: &PathBuf| !only_inlined && file.extension().is_some_and(|it| it == "conf");
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = files.filter(|file| !is_read(file) && !file.is_dir()).collect();
    files.sort_unstable();
    let unread = |file| Unread { file, network: network.name().clone(), only_inlined };
    files.into_iter().map(unread).collect()
}
