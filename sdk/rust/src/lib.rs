#![doc = include_str!("../README.md")]

mod code;
mod content;
mod error;
mod exec;
mod files;
#[rustfmt::skip]
mod generated;
mod guard;
mod http;
mod managers;
mod sandbox;
mod server;
mod sse;
mod terminal;
mod value;

pub use code::{CodeError, Execution, RunCode};
pub use content::{Download, FileReader, Upload};
pub use error::{Result, SandboxError};
pub use exec::{Exec, ExitStatus};
pub use files::FileSystem;
pub use generated::*;
pub use guard::SandboxGuard;
pub use http::{Api, ClientConfig, HttpClient};
pub use managers::*;
pub use sandbox::{create_sandbox, get_sandbox, list_sandboxes, list_templates, Sandbox};
pub use server::*;
pub use sse::EventStream;
pub use terminal::{Terminal, TerminalEnd, TerminalManager};
pub use value::{Command, OneOrMany};

/// The name under which other clients of this interface know these options.
pub type TraceOptions = ObservabilityTracesOptions;
