//! How each clause is checked: one module for what is looked at together.
//!
//! Each makes calls through the session and judges the answers. What follows from a fault that another check tells is
//! skipped, so that one fault is one failed check.

pub(crate) mod damage;
pub(crate) mod delegation;
pub(crate) mod facets;
pub(crate) mod lifecycle;
pub(crate) mod pairs;
pub(crate) mod prev_result;
pub(crate) mod refusals;
pub(crate) mod results;
pub(crate) mod upkeep;
pub(crate) mod version;
