//! Finds CNI plugins, runs them and reads their answers.
//!
//! | module | what it decides |
//! | --- | --- |
//! | `exec` | the one way in which a plugin is found and run ([`Exec`]) |
//! | `find` | which file is a plugin |
//! | `environment` | a process environment as a value |
//! | `until` | deadline and cancellation |

mod environment;
mod exec;
mod find;
mod tail;
mod until;

pub use environment::Environment;
pub use exec::{Exec, Exit, Invocation, Output, RunError};
pub use find::{FindError, Miss, SearchPath, find_plugin};
pub use tail::Tail;
pub use until::{CancelToken, Interruption, Until};
