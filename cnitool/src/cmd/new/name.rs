//! Which names a new plugin can have: it is the plugin's type, a crate, and a type in its code.

use super::template::{self, Kind};

/// The longest name that a registry of crates takes.
const LONGEST: usize = 64;

/// Words that no crate can be called: those of Rust, and what cargo and the compiler have for themselves.
const TAKEN: &str = "abstract alloc as async await become box break build const continue core crate deps do dyn else \
                     enum examples extern false final fn for gen if impl in incremental let loop macro match mod move \
                     mut override priv proc-macro proc_macro pub ref return self static std struct super test trait \
                     true try type typeof unsafe unsized use virtual where while yield";

/// A name that will do.
#[derive(Debug)]
pub(super) struct Name {
    /// As it was given: the type of the plugin and the name of the crate.
    pub(super) plugin: String,
    /// The crate in code: `my_plugin`.
    pub(super) snake: String,
    /// The type in code: `MyPlugin`.
    pub(super) camel: String,
}

/// Why a name will not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The code has the word for something else.
    Code,
    /// A crate that the new one depends on is called so.
    Dependency,
    /// It has other characters, or at other places.
    Form,
    /// The word means something to Rust or to cargo.
    Taken,
}

impl Name {
    pub(super) fn new(name: &str, kind: Kind) -> Result<Self, Unfit> {
        let words: Vec<_> = name.split(['-', '_']).collect();
        let is_word = |word: &&str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
        if !starts_well || name.len() > LONGEST || !words.iter().all(is_word) {
            return Err(Unfit::Form);
        }
        if TAKEN.split(' ').any(|taken| taken == name) {
            return Err(Unfit::Taken);
        }
        let (snake, camel) =
            (words.join("_"), words.iter().map(|word| capitalized(word)).collect::<String>());
        if template::dependencies(kind).any(|dependency| dependency.replace('-', "_") == snake) {
            return Err(Unfit::Dependency);
        }
        if template::has_word(kind, &camel) {
            return Err(Unfit::Code);
        }
        Ok(Self { plugin: name.to_owned(), snake, camel })
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(names: &[&str], unfit: Unfit) {
        for kind in Kind::ALL {
            for name in names {
                assert_eq!(Name::new(name, kind).unwrap_err(), unfit, "{name:?} {kind:?}");
            }
        }
    }

    #[test]
    fn a_name_is_a_type_a_crate_and_a_word_of_code() {
        for kind in Kind::ALL {
            for given in ["hello", "x", "host-local2", "my_net", "my-plugin", "bridge"] {
                let name = Name::new(given, kind).unwrap();
                assert!(!name.snake.contains('-') && name.camel.starts_with(char::is_uppercase), "{name:?}");
            }
        }
        let long = "a".repeat(65);
        refused(
            &["", "Hello", "9net", "-x", "a--b", "a-", "a b", "../x", "a.b", "é", long.as_str()],
            Unfit::Form,
        );
        refused(&["static", "test", "core", "build", "self"], Unfit::Taken);
        refused(&["serde", "cni-skel", "cni_skel", "serde-json"], Unfit::Dependency);
        refused(&["plugin", "add-request", "result", "cidr", "option"], Unfit::Code);
        assert_eq!(Name::new("store", Kind::Ipam).unwrap_err(), Unfit::Code);
        assert!(Name::new("store", Kind::Chained).is_ok());
    }
}
