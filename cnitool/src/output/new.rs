//! What was made, and what to do with it.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use serde::Serialize;

use super::{Report, Style, pretty};
use crate::cmd::Kind;

/// A new crate.
#[derive(Debug)]
pub(crate) struct Created<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    pub(crate) files: &'a [(PathBuf, String)],
}

impl Created<'_> {
    fn kind(&self) -> String {
        self.kind.to_possible_value().map(|kind| kind.get_name().to_owned()).unwrap_or_default()
    }
}

impl Report for Created<'_> {
    fn text(&self, style: Style) -> String {
        let Self { dir, name, .. } = self;
        let (dir, kind, done) = (dir.display(), self.kind(), style.green("created"));
        format!(
            "{done} {dir}: plugin {name:?}, of the kind {kind}; its README.md tells what is there, and how to go on\n"
        )
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct Json<'a> {
            name: &'a str,
            kind: String,
            path: &'a Path,
            files: Vec<&'a Path>,
        }
        let files = self.files.iter().map(|(path, _)| path.as_path()).collect();
        pretty(&Json { name: self.name, kind: self.kind(), path: self.dir, files })
    }
}
