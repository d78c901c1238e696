//! The operations, one a file. Each checks first, locks then, and only then runs plugins.

mod add;
mod cached;
mod check;
mod del;
mod gc;
mod run;
mod status;
mod validate;
mod version;

pub use cached::CacheError;
pub use gc::GcReport;
pub use validate::{PluginReport, Validation, ValidationProblem};
