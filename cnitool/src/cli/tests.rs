//! The examples that are shown are commands that can be typed, and a command described alone is the one of the whole.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use super::Cli;

/// The words of each `cnitool …` in a text, as a shell would make them of it; without what it is piped to.
fn examples(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let (_, examples) = joined.split_once("Examples:\n").unwrap();
    let indented = examples.lines().take_while(|line| line.starts_with(' ')).map(str::trim);
    // A line between them says what the next is for.
    indented
        .filter(|line| !line.ends_with(':'))
        .filter_map(|line| Some(words(&line[line.find("cnitool ")?..])))
        .collect()
}

fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            '|' | '&' | '>' | ')' if !quoted => break,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_command_has_examples_and_each_can_be_typed() {
    let mut root = Cli::command();
    root.build();
    let commands =
        root.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let mut seen = 0;
    for command in commands.chain([&root]) {
        let text = command.get_after_help().unwrap().to_string();
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{text}");
        for example in examples {
            if let Err(error) = Cli::try_parse_from(&example) {
                panic!("{}: {example:?}: {error}", command.get_name());
            }
            let name = command.get_name();
            assert!(name == "cnitool" || example[1] == name, "{example:?} is no example of {name}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_command_described_alone_takes_the_same_words() {
    let flags = [
        "",
        "--conf-dir c",
        "--conf-dir=c --conf-dir d",
        "--plugin-path p --cache-dir d",
        "-i eth1",
        "-ieth1 --json",
        "--ifname",
        "--ifname -x",
        "--trace",
        "--trace=json",
        "--trace json",
        "--trace=xml",
        "--redact a --redact b",
        "--args A=1;B=2",
        "--cap-args {}",
        "--undo",
        "--args=-h",
        "-h",
        "--help",
        "--version",
        "-V",
        "--unknown",
        "--js",
    ];
    let operands = ["", "n", "n /ns", "n /ns:eth0 /other", "help", "n add", "-- n --json", "-- -h /ns"];
    let (mut taken, mut refused) = (0, 0);
    for command in ["add", "check", "del", "gc", "status"] {
        for (flags, operands) in flags.iter().flat_map(|flags| operands.map(|operands| (flags, operands))) {
            for order in [format!("{flags} {operands}"), format!("{operands} {flags}")] {
                let words = format!("cnitool {command} {order}");
                let words: Vec<OsString> = words.split_whitespace().map(Into::into).collect();
                match Cli::try_parse_from(&words) {
                    Ok(whole) => {
                        let alone = Cli::of_one_command(&words).map(|alone| format!("{alone:?}"));
                        assert_eq!(alone, Some(format!("{whole:?}")), "{words:?}");
                        taken += 1;
                    }
                    Err(_) => {
                        assert!(Cli::of_one_command(&words).is_none(), "{words:?}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(taken > 200 && refused > 1000, "{taken} {refused}");
}
