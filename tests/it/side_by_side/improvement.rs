//! The list of what is better here than in Go's plugins, `improvements.json`: where it shows, how, and why.

use std::collections::BTreeMap;

use cni_tests::vectors::glob;
use serde::Deserialize;

use super::compare::Difference;

const LIST: &str = include_str!("improvements.json");

/// What stands for all plugins in the list's keys, which otherwise name some of them.
const EVERY: &str = "every plugin";

/// One improvement. It explains the lines of a step that fit its patterns, if it is one of its steps and each pattern
/// fits a line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Improvement {
    /// Patterns of the names of cases; every one must be needed.
    cases: Vec<String>,
    /// A pattern of the steps: the number, the command, the container.
    #[serde(default = "any")]
    step: String,
    /// Patterns of the lines that only Go's has.
    #[serde(default)]
    go: Vec<String>,
    /// Patterns of the lines that only ours has.
    #[serde(default)]
    ours: Vec<String>,
    why: String,
}

fn any() -> String {
    "*".to_owned()
}

/// The improvements of one plugin, and which of them have shown.
#[derive(Debug)]
pub(super) struct Improvements {
    list: Vec<Improvement>,
    /// Of each improvement, which patterns of cases were needed.
    used: Vec<Vec<bool>>,
}

impl Improvements {
    pub(super) fn of(plugin: &str) -> Self {
        let lists: BTreeMap<String, Vec<Improvement>> = serde_json::from_str(LIST).unwrap();
        let is_for_it = |plugins: &str| plugins == EVERY || plugins.split(", ").any(|named| named == plugin);
        let list: Vec<_> =
            lists.into_iter().filter(|(plugins, _)| is_for_it(plugins)).flat_map(|(_, list)| list).collect();
        let used = list.iter().map(|improvement| vec![false; improvement.cases.len()]).collect();
        Self { list, used }
    }

    /// What no improvement explains of a difference.
    pub(super) fn explain(&mut self, case: &str, mut difference: Difference) -> Option<Difference> {
        for (improvement, used) in self.list.iter().zip(&mut self.used) {
            let named: Vec<usize> = improvement.of_case(case).collect();
            if !named.is_empty() && improvement.explains(&mut difference) {
                named.into_iter().for_each(|at| used[at] = true);
            }
        }
        let is_explained = difference.go.is_empty() && difference.ours.is_empty();
        (!is_explained).then_some(difference)
    }

    /// What does not show, or not any more.
    pub(super) fn unused(&self) -> Vec<String> {
        let listed = self.list.iter().zip(&self.used);
        let unused = listed.flat_map(|(improvement, used)| {
            let cases = improvement.cases.iter().zip(used).filter(|(_, used)| !**used);
            cases.map(|(case, _)| {
                format!("{case}: nothing differs: {} {:?}", improvement.step, improvement.why)
            })
        });
        unused.collect()
    }
}

impl Improvement {
    fn of_case(&self, case: &str) -> impl Iterator<Item = usize> {
        (0..self.cases.len()).filter(move |at| glob::matches(&self.cases[*at], case))
    }

    /// Takes the lines out that fit, if all patterns do.
    fn explains(&self, difference: &mut Difference) -> bool {
        let fits = |patterns: &[String], lines: &[String]| {
            patterns.iter().all(|pattern| lines.iter().any(|line| glob::matches(pattern, line)))
        };
        let explains = glob::matches(&self.step, &difference.label)
            && fits(&self.go, &difference.go)
            && fits(&self.ours, &difference.ours);
        if explains {
            let stays = |patterns: &[String], line: &str| {
                !patterns.iter().any(|pattern| glob::matches(pattern, line))
            };
            difference.go.retain(|line| stays(&self.go, line));
            difference.ours.retain(|line| stays(&self.ours, line));
        }
        explains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(go: &[&str], ours: &[&str]) -> Difference {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Difference { label: "1 ADD c1".to_owned(), go: lines(go), ours: lines(ours) }
    }

    fn listed(json: &str) -> Improvements {
        let list: Vec<Improvement> = serde_json::from_str(json).unwrap();
        let used = list.iter().map(|improvement| vec![false; improvement.cases.len()]).collect();
        Improvements { list, used }
    }

    #[test]
    fn what_is_not_listed_is_left() {
        let mut list = listed(r#"[{"cases": ["a"], "go": ["x = *"], "ours": ["x = 1"], "why": "w"}]"#);
        assert!(list.explain("a", difference(&["x = 0"], &["x = 1"])).is_none());
        let left = list.explain("a", difference(&["x = 0", "y = 0"], &["x = 1"])).unwrap();
        assert_eq!((left.go, left.ours), (vec!["y = 0".to_owned()], vec![]));
        // Another case, another step, another form.
        assert!(list.explain("b", difference(&["x = 0"], &["x = 1"])).is_some());
        let del = Difference { label: "2 DEL c1".to_owned(), ..difference(&["x = 0"], &["x = 1"]) };
        let mut adds = listed(r#"[{"cases": ["a"], "step": "* ADD *", "go": ["x = *"], "why": "w"}]"#);
        assert!(adds.explain("a", del).is_some());
        assert_eq!(list.explain("a", difference(&["x = 0"], &["x = 2"])).unwrap().go, ["x = 0"]);
    }

    /// An entry that nobody reads, or that says nothing, would never be missed.
    #[test]
    fn every_entry_is_of_a_suite_and_says_where_what_and_why() {
        let lists: BTreeMap<String, Vec<Improvement>> = serde_json::from_str(LIST).unwrap();
        for (plugins, list) in &lists {
            let is_known = |plugin: &str| super::super::suites().iter().any(|suite| suite.plugin == plugin);
            assert!(plugins == EVERY || plugins.split(", ").all(is_known), "{plugins:?}");
            for improvement in list {
                let says = !improvement.go.is_empty() || !improvement.ours.is_empty();
                let is_whole = says && !improvement.cases.is_empty() && !improvement.why.is_empty();
                assert!(is_whole, "{improvement:?}");
            }
        }
    }

    #[test]
    fn what_does_not_show_any_more_is_told() {
        let mut list = listed(r#"[{"cases": ["a", "b*"], "ours": ["x = 1"], "why": "w"}]"#);
        list.explain("b2", difference(&[], &["x = 1"]));
        assert_eq!(list.unused(), [r#"a: nothing differs: * "w""#]);
    }
}
