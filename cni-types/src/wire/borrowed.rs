//! Text that is looked at while a document is read.

use std::borrow::Cow;

use serde::Deserialize;

/// Text as it stands in the document: a copy only where the document has it escaped, or is not at hand as a whole.
///
/// A plain `Cow` is always read as a copy.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Borrowed<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);
