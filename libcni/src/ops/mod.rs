//! The operations, one a file. Each checks first, locks then, and only then runs plugins.

mod add;
mod cached;
mod check;
mod del;
mod gc;
mod run;
mod status;

pub use gc::GcReport;
