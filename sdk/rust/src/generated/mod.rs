//! Generated from docs/openapi.json by tools/sdkgen; do not edit.

mod errors;
mod managers;
mod ops;
mod types;

pub use errors::ErrorCode;
pub use ops::OPERATIONS;
pub use types::*;
