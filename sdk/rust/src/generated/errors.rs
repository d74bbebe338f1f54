//! Generated from docs/openapi.json by tools/sdkgen; do not edit.

/// Kinds of failure that the server tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A field is missing, of the wrong type or out of its limits
    InvalidArgument,
    /// No Authorization header
    Unauthorized,
    /// Wrong token, or something that is not allowed
    Forbidden,
    /// Something the request names does not exist
    NotFound,
    /// The path takes other methods; see the Allow header
    MethodNotAllowed,
    /// Not possible in the present state
    Conflict,
    /// It is gone
    Gone,
    /// The file is not in the state that If-Match or If-None-Match wants
    PreconditionFailed,
    /// The body is larger than the server takes
    TooLarge,
    /// The range lies outside of the file; see the Content-Range header
    RangeNotSatisfiable,
    /// Too many requests (see the Retry-After header), or a quota is used up
    RateLimited,
    /// The server or the sandbox failed
    Internal,
    /// The sandbox's backend cannot do this
    Unsupported,
    /// Another server did not answer as it should
    BadGateway,
    /// No room: a limit of the server is reached
    NoCapacity,
    /// It took longer than allowed
    TimedOut,
    /// No space left
    NoSpace,
}

impl ErrorCode {
    pub fn from_status(status: u16) -> Option<Self> {
        Some(match status {
            400 => ErrorCode::InvalidArgument,
            401 => ErrorCode::Unauthorized,
            403 => ErrorCode::Forbidden,
            404 => ErrorCode::NotFound,
            405 => ErrorCode::MethodNotAllowed,
            409 => ErrorCode::Conflict,
            410 => ErrorCode::Gone,
            412 => ErrorCode::PreconditionFailed,
            413 => ErrorCode::TooLarge,
            416 => ErrorCode::RangeNotSatisfiable,
            429 => ErrorCode::RateLimited,
            500 => ErrorCode::Internal,
            501 => ErrorCode::Unsupported,
            502 => ErrorCode::BadGateway,
            503 => ErrorCode::NoCapacity,
            504 => ErrorCode::TimedOut,
            507 => ErrorCode::NoSpace,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::InvalidArgument => "invalid_argument",
            ErrorCode::Unauthorized => "unauthorized",
            ErrorCode::Forbidden => "forbidden",
            ErrorCode::NotFound => "not_found",
            ErrorCode::MethodNotAllowed => "method_not_allowed",
            ErrorCode::Conflict => "conflict",
            ErrorCode::Gone => "gone",
            ErrorCode::PreconditionFailed => "precondition_failed",
            ErrorCode::TooLarge => "too_large",
            ErrorCode::RangeNotSatisfiable => "range_not_satisfiable",
            ErrorCode::RateLimited => "rate_limited",
            ErrorCode::Internal => "internal",
            ErrorCode::Unsupported => "unsupported",
            ErrorCode::BadGateway => "bad_gateway",
            ErrorCode::NoCapacity => "no_capacity",
            ErrorCode::TimedOut => "timed_out",
            ErrorCode::NoSpace => "no_space",
        }
    }
}
