//! Errors of handlers: any error by `?`, with context, a code and details where the author has them.

use std::fmt;
use std::panic::Location;

use crate::plugin::CniPlugin;
use crate::types::args::InvalidArgs;
use crate::types::{DecodeError, ErrorCode, ErrorObject, IncompatibleVersion, InvalidName};

/// What a handler returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a handler failed: becomes the error object.
///
/// `?` takes any error and gives code 999. An error object of a delegate keeps its code and details, a decode error has
/// code 6, and the plugin's own error types have the codes that their [`CniError`](macro@crate::CniError) derive says,
/// once they are declared by `#[cni(errors(…))]` on the plugin. Of any other error that nobody has given context, the
/// details name the line of the `?`, since "No such file or directory" alone helps nobody.
///
/// ```
/// use cni_skel::{Error, ErrorCode, ResultExt};
///
/// fn read_pool() -> cni_skel::Result<String> {
///     std::fs::read_to_string("/does/not/exist").context("reading the pool")
/// }
///
/// let object = read_pool().unwrap_err().with_code(ErrorCode::TRY_AGAIN).to_object();
/// assert_eq!(object.code(), ErrorCode::TRY_AGAIN);
/// assert!(object.msg.starts_with("reading the pool: No such file"));
/// ```
///
/// Like other types that take any error, it is no [`std::error::Error`] itself.
pub struct Error {
    code: Option<ErrorCode>,
    /// What was attempted, innermost first.
    context: Vec<String>,
    details: Option<String>,
    cause: Cause,
    /// Where `?` stands, for an error of which nothing else says what was attempted.
    place: Option<&'static Location<'static>>,
}

enum Cause {
    Message(String),
    Error(Box<dyn std::error::Error + Send + Sync>),
    Many(Vec<Error>),
}

/// An error that knows its CNI code. Derive it for an enum; see the [`CniError`](macro@crate::CniError) derive.
///
/// See [the spec's error codes](https://github.com/containernetworking/cni/blob/main/SPEC.md#error).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which CNI codes it has",
    note = "add `#[derive(cni_skel::CniError)]` to `{Self}`, with `#[cni(code = …)]` for its code"
)]
pub trait CodedError: std::error::Error {
    /// The code.
    fn code(&self) -> ErrorCode;

    /// The longer message; none by default.
    fn details(&self) -> Option<String> {
        None
    }
}

impl<E: CodedError> CodedError for Box<E> {
    fn code(&self) -> ErrorCode {
        E::code(self)
    }

    fn details(&self) -> Option<String> {
        E::details(self)
    }
}

impl Error {
    /// An error with a code and a message.
    pub fn new(code: ErrorCode, msg: impl Into<String>) -> Self {
        Self { code: Some(code), ..Self::message(msg) }
    }

    /// An error with a message alone: code 999.
    pub fn message(msg: impl Into<String>) -> Self {
        Self::of(Cause::Message(msg.into()))
    }

    /// An error that knows its own code, which need not be declared on the plugin.
    pub fn coded(error: impl CodedError + Send + Sync + 'static) -> Self {
        let (code, details) = (error.code(), error.details());
        Self { code: Some(code), details, ..Self::boxed(Box::new(error)) }
    }

    /// An error of a type that `?` does not take by itself: a boxed one, that of a library such as `anyhow`, or a text.
    ///
    /// What it has inside is found as by `?`: the codes of declared types, the error objects of delegates.
    ///
    /// ```
    /// use cni_skel::{Error, Result};
    ///
    /// fn pool() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ///     Err("the pool is locked".into())
    /// }
    ///
    /// fn reserve() -> Result<()> {
    ///     pool().map_err(Error::boxed)
    /// }
    /// assert_eq!(reserve().unwrap_err().to_object().msg, "the pool is locked");
    /// ```
    pub fn boxed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::of(Cause::Error(error.into()))
    }

    const fn of(cause: Cause) -> Self {
        Self { code: None, context: Vec::new(), details: None, cause, place: None }
    }

    /// Several errors as one: the first code that any of them has, every message in the details. `None` when there is none.
    pub fn all(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut errors: Vec<_> = errors.into_iter().collect();
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::of(Cause::Many(errors))),
        }
    }

    /// The same error with what was attempted in front of its message.
    #[must_use]
    pub fn context(mut self, attempted: impl Into<String>) -> Self {
        self.context.push(attempted.into());
        self
    }

    /// The same error with a code, whatever it had before.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.code = Some(code);
        self
    }

    /// The same error with a longer message.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// The error of this type that is at the bottom, if it is one.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.cause {
            Cause::Error(error) => chain(&**error).find_map(|error| error.downcast_ref()),
            Cause::Message(_) | Cause::Many(_) => None,
        }
    }

    /// The error object, without the codes that a plugin declares for its own types.
    pub fn to_object(&self) -> ErrorObject {
        self.to_object_with(|_| None)
    }

    /// The error object as a plugin prints it.
    pub fn to_object_for<P: CniPlugin>(&self) -> ErrorObject {
        self.to_object_with(P::coded)
    }

    #[cold]
    fn to_object_with(&self, coded: CodedBy) -> ErrorObject {
        let mut object = match &self.cause {
            Cause::Message(msg) => ErrorObject::new(ErrorCode::INTERNAL, msg),
            Cause::Error(error) => object_of(&**error, coded).unwrap_or_else(|messages| {
                let place = self.place.filter(|_| self.context.is_empty());
                let details = place.map(|place| format!("from {}:{}", place.file(), place.line()));
                ErrorObject::new(ErrorCode::INTERNAL, messages).with_details(details.unwrap_or_default())
            }),
            Cause::Many(errors) => {
                let objects: Vec<_> = errors.iter().map(|error| error.to_object_with(coded)).collect();
                let details: Vec<_> = objects.iter().map(ToString::to_string).collect();
                let said = |code: &ErrorCode| code.value() != 0 && *code != ErrorCode::INTERNAL;
                let code = objects.iter().map(ErrorObject::code).find(said).unwrap_or(ErrorCode::INTERNAL);
                ErrorObject::new(code, format!("{} errors", errors.len())).with_details(details.join("\n"))
            }
        };
        if let Some(code) = self.code {
            object.set_code(code);
        }
        if let Some(details) = &self.details {
            object.details.clone_from(details);
        }
        for attempted in &self.context {
            object.msg = if object.msg.is_empty() {
                attempted.clone()
            } else {
                format!("{attempted}: {}", object.msg)
            };
        }
        // Neither a code nor a message may be missing: a runtime that shows nothing else shows these.
        if object.code().value() == 0 {
            object.set_code(ErrorCode::INTERNAL);
        }
        if object.msg.is_empty() {
            object.msg = "the plugin failed without a message".to_owned();
        }
        object
    }
}

/// Which errors have a code of their own.
type CodedBy = for<'e> fn(&'e (dyn std::error::Error + 'static)) -> Option<&'e dyn CodedError>;

/// An error and its sources, outermost first.
fn chain<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// The object of an error: its message with those of its sources, and the code of the outermost that has one. The message
/// alone if none has one.
fn object_of(error: &(dyn std::error::Error + 'static), coded: CodedBy) -> Result<ErrorObject, String> {
    let mut found = None;
    let mut messages: Vec<String> = Vec::new();
    for error in chain(error) {
        let code = coded(error)
            .map(|coded| (coded.code(), coded.details().unwrap_or_default()))
            .or_else(|| known(error));
        // An error object prints its code and details, which have their own places here.
        let message = error
            .downcast_ref::<ErrorObject>()
            .map_or_else(|| error.to_string(), |object| object.msg.clone());
        // Some errors print their source themselves; saying it twice helps nobody.
        if !message.is_empty() && !messages.last().is_some_and(|outer| outer.ends_with(&message)) {
            messages.push(message);
        }
        found = found.or(code);
    }
    let message = messages.join(": ");
    match found {
        Some((code, details)) => Ok(ErrorObject::new(code, message).with_details(details)),
        None => Err(message),
    }
}

/// The code and details of this SDK's own errors.
///
/// Not by way of their error objects, whose messages are not asked for: a plugin that calls no other would have the texts of
/// all that can fail there.
fn known(error: &(dyn std::error::Error + 'static)) -> Option<(ErrorCode, String)> {
    if let Some(error) = error.downcast_ref::<ErrorObject>() {
        Some((error.code(), error.details.clone()))
    } else if let Some(error) = error.downcast_ref::<cni_invoke::Error>() {
        Some((error.code(), error.object().map(|object| object.details.clone()).unwrap_or_default()))
    } else if let Some(error) = error.downcast_ref::<IncompatibleVersion>() {
        Some((ErrorCode::INCOMPATIBLE_CNI_VERSION, error.details()))
    } else if let Some(error) = error.downcast_ref::<InvalidName>() {
        Some((error.code(), ErrorObject::from(error.clone()).details))
    } else if error.is::<InvalidArgs>() {
        Some((ErrorCode::INVALID_ENVIRONMENT, String::new()))
    } else {
        error.is::<DecodeError>().then(|| (ErrorCode::DECODING_FAILURE, String::new()))
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    /// What `?` does; it leaves its place in the source for the details.
    #[track_caller]
    fn from(error: E) -> Self {
        let place = Location::caller();
        // A place in the standard library, which may be in between, says nothing.
        let place = Some(place).filter(|place| !place.file().contains("/library/core/src/"));
        Self { place, ..Self::boxed(error) }
    }
}

/// As its error object, so that it passes where any error does.
impl From<Error> for Box<dyn std::error::Error + Send + Sync> {
    fn from(error: Error) -> Self {
        Self::from(error.to_object())
    }
}

/// As its error object, so that it passes where any error does.
impl From<Error> for Box<dyn std::error::Error> {
    fn from(error: Error) -> Self {
        Self::from(error.to_object())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_object().fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Adds context or a code to any error on its way out of a handler.
pub trait ResultExt<T> {
    /// Puts what was attempted in front of the message.
    ///
    /// # Errors
    ///
    /// The error, with the context.
    fn context(self, attempted: impl Into<String>) -> Result<T>;

    /// The same, worked out only when there is an error.
    ///
    /// # Errors
    ///
    /// The error, with the context.
    fn with_context<C: Into<String>>(self, attempted: impl FnOnce() -> C) -> Result<T>;

    /// Gives the error a code.
    ///
    /// # Errors
    ///
    /// The error, with the code.
    fn code(self, code: ErrorCode) -> Result<T>;
}

impl<T, E: Into<Error>> ResultExt<T> for std::result::Result<T, E> {
    fn context(self, attempted: impl Into<String>) -> Result<T> {
        self.map_err(|error| error.into().context(attempted))
    }

    fn with_context<C: Into<String>>(self, attempted: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|error| error.into().context(attempted()))
    }

    fn code(self, code: ErrorCode) -> Result<T> {
        self.map_err(|error| error.into().with_code(code))
    }
}

#[cfg(test)]
mod tests;
