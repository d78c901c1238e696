//! The error object of the protocol, its codes, and this crate's own errors about JSON.

mod code;
mod decode;
mod object;
mod path;

pub use code::ErrorCode;
pub(crate) use decode::offset_of;
pub use decode::{DecodeError, DecodeErrorKind};
pub use object::ErrorObject;
