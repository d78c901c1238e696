//! The two lists of deviations agree: each row of `docs/deviations.md` is pinned, and each entry has a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cni_tests::vectors::case;

use super::list;

/// What pins a row.
#[derive(Debug, Default)]
struct Pins {
    files: BTreeSet<String>,
    tests: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The rows of the tables in the document, by number: five cells, the last of which says what pins the row.
fn rows(document: &str) -> BTreeMap<u32, Pins> {
    let mut rows = BTreeMap::new();
    for line in document.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Ok(number) = cells[0].parse() else { continue };
        assert_eq!(cells.len(), 5, "row {number} has another number of cells");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "row {number} has an empty cell");
        assert!(rows.insert(number, pins(number, cells[4])).is_none(), "two rows have the number {number}");
    }
    rows
}

fn pins(row: u32, cell: &str) -> Pins {
    let mut pins = Pins::default();
    for part in cell.split(';').map(str::trim) {
        match part.strip_prefix("vectors: ") {
            Some(files) => pins.files.extend(files.split(',').map(|file| file.trim().to_owned())),
            None => pins.tests.extend(part.split(',').map(|name| {
                let name = name.trim().strip_prefix('`').and_then(|name| name.strip_suffix('`'));
                name.unwrap_or_else(|| panic!("row {row}: {part:?} is neither vectors nor a test")).to_owned()
            })),
        }
    }
    pins
}

/// The text of every Rust file of the workspace.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_row_is_pinned_and_every_entry_has_a_row() {
    let rows = rows(&fs::read_to_string(root().join("docs/deviations.md")).unwrap());
    let mut listed: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for entry in list() {
        listed.entry(entry.row).or_default().insert(entry.file.to_owned());
    }
    for (number, files) in &listed {
        let row = rows
            .get(number)
            .unwrap_or_else(|| panic!("the list names row {number}, which is not in the document"));
        assert_eq!(
            *files, row.files,
            "row {number}: the list (left) and the document name other vector files"
        );
    }
    for (number, row) in &rows {
        assert!(!row.files.is_empty() || !row.tests.is_empty(), "nothing pins row {number}");
        for file in &row.files {
            assert!(case::FILES.contains(&file.as_str()), "row {number}: there are no vectors {file:?}");
            assert!(listed.contains_key(number), "row {number}: the list has no entry for {file}");
        }
    }
}

#[test]
fn the_tests_that_rows_name_exist() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    let text: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for (number, row) in rows(&fs::read_to_string(root().join("docs/deviations.md")).unwrap()) {
        for test in row.tests {
            assert!(text.contains(&format!("fn {test}(")), "row {number}: there is no test {test}");
        }
    }
}

#[test]
fn a_row_is_read_with_all_that_pins_it() {
    let rows =
        rows("| no. | Go |\n| --- | --- |\n| 7 | a | b | c | vectors: validate, versions; `one`, `two` |\n");
    let pins = &rows[&7];
    assert_eq!(pins.files.iter().map(String::as_str).collect::<Vec<_>>(), ["validate", "versions"]);
    assert_eq!(pins.tests, ["one", "two"]);
}
