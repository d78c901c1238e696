//! Asks a plugin what it is, beside the protocol.
//!
//! Whatever lies in the place of a plugin may be asked, so nothing is taken for granted: most plugins know no such
//! question, and answer with an error, a line about themselves or nothing.

use std::path::Path;

use cni_types::{DecodeError, PluginDescription};

use crate::environment::Environment;
use crate::exec::{Exec, Exit, RunError};
use crate::until::Until;

/// Asks a plugin what it is by `--describe`.
///
/// It is given an environment without the variables of the protocol. Ask for its versions first: what does not answer
/// VERSION is no plugin, and what it would do with an argument nobody knows.
///
/// ```no_run
/// use std::path::Path;
/// use std::time::Duration;
/// use cni_invoke::{Environment, ProcessExec, Until};
///
/// // Go's plugins write on stderr who they are.
/// let exec = ProcessExec::new().with_stdout_limit(1024 * 1024).with_stderr(|_| ());
/// let environment = Environment::of_this_process();
/// let until = Until::timeout(Duration::from_secs(10));
/// match cni_invoke::describe(&exec, Path::new("/opt/cni/bin/bridge"), &environment, &until) {
///     Ok(description) => println!("{}", description.about),
///     Err(error) => println!("not described: {error}"),
/// }
/// ```
///
/// # Errors
///
/// When it cannot be run, fails, or answers with something else.
pub fn describe(
    exec: &dyn Exec,
    program: &Path,
    environment: &Environment,
    until: &Until,
) -> Result<PluginDescription, DescribeError> {
    let output = exec.describe(program, &without_protocol(environment), until)?;
    if !output.exit.is_success() {
        return Err(DescribeError::Failed(output.exit));
    }
    if output.stdout.trim_ascii().is_empty() {
        return Err(DescribeError::Silent);
    }
    Ok(PluginDescription::decode(&output.stdout)?)
}

/// The same environment without what this process, if it is a plugin itself, was told.
fn without_protocol(environment: &Environment) -> Environment {
    let is_other = |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(b"CNI_");
    environment.iter().filter(|(name, _)| is_other(name)).collect()
}

/// A plugin did not say what it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// It did not end well, as plugins do that know no such question.
    #[error("it answered --describe with {0}")]
    Failed(Exit),
    /// It could not be started, or did not come to its own end.
    #[error("it could not be asked by --describe")]
    Run(#[from] RunError),
    /// It printed nothing on stdout, as plugins do that know no such question.
    #[error("it answered --describe with nothing on stdout")]
    Silent,
    /// It printed something else.
    #[error("it answered --describe with something else")]
    Unreadable(#[from] DecodeError),
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Mutex;

    use cni_types::PluginType;

    use super::*;
    use crate::{FindError, Invocation, Output, SearchPath};

    /// Answers `--describe` with this, and keeps the names of the variables.
    struct Answer(Output, Mutex<Vec<String>>);

    impl Exec for Answer {
        fn find(&self, _: &PluginType, _: &SearchPath) -> Result<PathBuf, FindError> {
            unreachable!("nothing is looked for")
        }

        fn run(&self, _: &Invocation<'_>) -> Result<Output, RunError> {
            unreachable!("no command is run")
        }

        fn describe(&self, _: &Path, environment: &Environment, _: &Until) -> Result<Output, RunError> {
            let names = environment.iter().map(|(name, _)| name.to_string_lossy().into_owned());
            self.1.lock().unwrap().extend(names);
            Ok(self.0.clone())
        }
    }

    fn ask(exit: Exit, stdout: &str) -> Result<String, String> {
        let exec = Answer(Output::new(exit, stdout), Mutex::default());
        let environment = [("PATH", "/bin"), ("CNI_COMMAND", "ADD"), ("CNI_PATH", "/opt")];
        let environment = environment.into_iter().collect();
        let answer = describe(&&exec, Path::new("/opt/p"), &environment, &Until::FOREVER);
        assert_eq!(*exec.1.lock().unwrap(), ["PATH"]);
        answer.map(|description| description.name).map_err(|error| error.to_string())
    }

    #[test]
    fn c100_what_is_no_description_is_told_apart_from_one() {
        assert_eq!(ask(Exit::SUCCESS, r#"{"formatVersion":1,"name":"p"}"#), Ok("p".to_owned()));
        for (exit, stdout, expected) in [
            (Exit::SUCCESS, "\n", "it answered --describe with nothing on stdout"),
            (Exit::SUCCESS, "CNI p plugin v1.1.1", "it answered --describe with something else"),
            (Exit::Code(1), r#"{"formatVersion":1,"name":"p"}"#, "it answered --describe with exit status 1"),
            (Exit::Signal(9), "", "it answered --describe with signal 9 (SIGKILL)"),
        ] {
            assert_eq!(ask(exit, stdout), Err(expected.to_owned()), "{stdout}");
        }
    }

    #[test]
    fn by_default_nothing_is_said() {
        struct Mute;
        impl Exec for Mute {
            fn find(&self, _: &PluginType, _: &SearchPath) -> Result<PathBuf, FindError> {
                unreachable!("nothing is looked for")
            }
            fn run(&self, _: &Invocation<'_>) -> Result<Output, RunError> {
                unreachable!("no command is run")
            }
        }
        let answer = describe(&Mute, Path::new("/p"), &Environment::new(), &Until::FOREVER);
        assert!(matches!(answer, Err(DescribeError::Silent)), "{answer:?}");
    }
}
