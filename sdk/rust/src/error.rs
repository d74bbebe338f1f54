//! What can go wrong, and the code by which a program can tell one failure of the server from another.

use crate::generated::{ErrorBody, ErrorCode, ExecResult};

pub type Result<T> = std::result::Result<T, SandboxError>;

#[derive(Debug)]
#[non_exhaustive]
pub enum SandboxError {
    /// The server answered, and not with 2xx. See [`SandboxError::code`] and [`SandboxError::message`].
    Http { method: String, address: String, path: String, status: u16, body: String },
    /// No answer: the connection failed, or the time was up.
    Request(reqwest::Error),
    /// The answer is not what the type says.
    Json(serde_json::Error),
    /// A file of this host could not be read or written.
    Io(std::io::Error),
    /// A stream or a terminal broke off.
    Stream(String),
    /// The client could not be made, for example because the base URL is none.
    ClientBuild(String),
    /// An argument that cannot be sent, for example an empty id.
    InvalidArgument(String),
    /// A command in the sandbox that a method stands for, such as git clone, exited with another code than 0.
    Command { command: String, result: Box<ExecResult> },
}

pub(crate) fn succeeded(command: &str, result: ExecResult) -> Result<ExecResult> {
    match result.exit_code {
        0 => Ok(result),
        _ => Err(SandboxError::Command { command: command.to_string(), result: Box::new(result) }),
    }
}

impl SandboxError {
    /// The kind of failure, when the server named one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            SandboxError::Http { status, .. } => ErrorCode::from_status(*status),
            _ => None,
        }
    }

    /// The HTTP status of the answer, when there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            SandboxError::Http { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The server's sentence about the failure; for the other kinds, what `Display` says.
    pub fn message(&self) -> String {
        match self {
            SandboxError::Http { body, .. } => error_text(body),
            other => other.to_string(),
        }
    }

    /// What a command had printed when it timed out.
    pub fn result(&self) -> Option<ExecResult> {
        match self {
            SandboxError::Http { body, .. } => serde_json::from_str::<ErrorBody>(body).ok()?.result,
            _ => None,
        }
    }

    /// What to do about it, when that is known.
    pub fn fix(&self) -> Option<&'static str> {
        match self {
            SandboxError::Http { status: 401, .. } => Some("set ClientConfig::token or III_SANDBOX_TOKEN"),
            SandboxError::Http { status: 403, .. } => Some("check the token and its role"),
            SandboxError::Request(e) if e.is_timeout() => Some("a larger ClientConfig::timeout_ms waits longer"),
            SandboxError::Request(e) if chain(e).contains("certificate") => {
                Some("trust its certificate with ClientConfig::ca_file or III_CA_CERT")
            }
            SandboxError::Request(e) if e.is_connect() => Some(
                "is a server there? `iii serve` starts one; ClientConfig::base_url or III_SANDBOX_URL names another",
            ),
            _ => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        self.code() == Some(ErrorCode::NotFound)
    }

    pub fn is_timeout(&self) -> bool {
        match self {
            SandboxError::Request(e) => e.is_timeout(),
            other => other.code() == Some(ErrorCode::TimedOut),
        }
    }
}

/// `{"error": text}` is how the server explains itself; anything else (a proxy's page) is given as it is.
fn error_text(body: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Explained {
        error: String,
    }
    match serde_json::from_str::<Explained>(body) {
        Ok(explained) => explained.error,
        Err(_) => body.to_string(),
    }
}

impl std::fmt::Display for SandboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SandboxError::Http { method, address, path, status, body } => {
                write!(f, "{method} {address}{path} failed: {status} {}", error_text(body))
            }
            SandboxError::Request(e) => write!(f, "request failed: {}", chain(e)),
            SandboxError::Json(e) => write!(f, "unexpected answer: {e}"),
            SandboxError::Io(e) => write!(f, "{e}"),
            SandboxError::Stream(why) => write!(f, "stream failed: {why}"),
            SandboxError::ClientBuild(why) => write!(f, "no client: {why}"),
            SandboxError::InvalidArgument(why) => write!(f, "invalid argument: {why}"),
            SandboxError::Command { command, result } => {
                let said = if result.stderr.is_empty() { &result.stdout } else { &result.stderr };
                write!(f, "{command} failed: exit code {}: {}", result.exit_code, said.trim())
            }
        }?;
        match self.fix() {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}

/// An error with its causes; reqwest's own text has the address.
fn chain(e: &reqwest::Error) -> String {
    let mut text = e.to_string();
    let mut cause = std::error::Error::source(e);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

impl std::error::Error for SandboxError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SandboxError::Request(e) => Some(e),
            SandboxError::Json(e) => Some(e),
            _ => None,
        }
    }
}

impl From<reqwest::Error> for SandboxError {
    fn from(e: reqwest::Error) -> Self {
        SandboxError::Request(e)
    }
}

impl From<serde_json::Error> for SandboxError {
    fn from(e: serde_json::Error) -> Self {
        SandboxError::Json(e)
    }
}
