//! Commands as tokio's own: a builder, and how the command ended.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use futures_util::StreamExt;

use crate::error::{succeeded, Result, SandboxError};
use crate::generated::*;
use crate::sandbox::Sandbox;
use crate::sse::EventStream;
use crate::value::Command;

/// Kept of each stream, as the server does for a command that is waited for.
const OUTPUT_MAX: usize = 10 << 20;

pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;
pub(crate) type Tell<'a> = Box<dyn FnMut(&str) + Send + 'a>;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitStatus {
    /// 128 and its number when a signal killed it; -1 when it timed out.
    pub code: i64,
    /// The signal that killed it: `KILL`, `TERM` …
    pub signal: Option<String>,
    pub timed_out: bool,
    /// It took more memory than the sandbox has.
    pub oom_killed: bool,
}

impl ExitStatus {
    pub fn success(&self) -> bool {
        self.code == 0
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.signal {
            _ if self.timed_out => f.write_str("timed out"),
            _ if self.oom_killed => f.write_str("out of memory"),
            Some(signal) => write!(f, "killed by SIG{signal}"),
            None => write!(f, "exit code {}", self.code),
        }
    }
}

impl ExecResult {
    pub fn status(&self) -> ExitStatus {
        ExitStatus {
            code: self.exit_code,
            signal: self.signal.clone(),
            timed_out: self.timed_out.unwrap_or(false),
            oom_killed: self.oom_killed.unwrap_or(false),
        }
    }
}

impl ExecStreamChunk {
    /// Of the last event, `exit`; None of all others.
    pub fn status(&self) -> Option<ExitStatus> {
        let code = self.data.as_ref().filter(|_| self.r#type == "exit")?.parse().ok()?;
        Some(ExitStatus {
            code,
            signal: self.signal.clone(),
            timed_out: self.timed_out.unwrap_or(false),
            oom_killed: self.oom_killed.unwrap_or(false),
        })
    }
}

/// A command before it runs: `sandbox.command("make").cwd("/src").env("CI", "1").await?`.
#[must_use = "a command runs when it is awaited"]
pub struct Exec<'a> {
    sandbox: &'a Sandbox,
    command: Command,
    options: CmdRunStreamOptions,
    tell: [Option<Tell<'a>>; 2],
    check: bool,
}

impl Sandbox {
    /// Runs a command and waits for its end, at most `timeout` seconds.
    pub async fn exec(&self, command: impl Into<Command>, timeout: Option<u64>) -> Result<ExecResult> {
        let options = CmdRunOptions { timeout: timeout.map(seconds), ..Default::default() };
        self.exec_with(command, options).await
    }

    pub async fn exec_with(&self, command: impl Into<Command>, options: CmdRunOptions) -> Result<ExecResult> {
        self.api().cmd_run(self.id(), command, options).await
    }

    /// Runs a command and gives its output as it comes; the last event is `exit` with the code as text.
    pub async fn exec_stream(&self, command: impl Into<Command>) -> Result<EventStream<ExecStreamChunk>> {
        self.exec_stream_with(command, CmdRunStreamOptions::default()).await
    }

    pub async fn exec_stream_with(
        &self,
        command: impl Into<Command>,
        options: CmdRunStreamOptions,
    ) -> Result<EventStream<ExecStreamChunk>> {
        self.api().cmd_run_stream(self.id(), command, options).await
    }

    /// A command with all that it may be given; awaiting it runs it. An exit code other than 0 is no error, unless
    /// [`Exec::check`] says so.
    pub fn command(&self, command: impl Into<Command>) -> Exec<'_> {
        let options = CmdRunStreamOptions::default();
        Exec { sandbox: self, command: command.into(), options, tell: [None, None], check: false }
    }
}

impl<'a> Exec<'a> {
    /// A variable beside those of the sandbox.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.env.get_or_insert_with(Default::default).insert(name.into(), value.into());
        self
    }

    /// A name or uid inside the sandbox, or with a group `name:group`.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.options.user = Some(user.into());
        self
    }

    pub fn cwd(mut self, folder: impl Into<String>) -> Self {
        self.options.cwd = Some(folder.into());
        self
    }

    /// In whole seconds. A command that takes longer is killed and is an error, with the output so far in
    /// [`SandboxError::result`].
    pub fn timeout(mut self, longest: Duration) -> Self {
        self.options.timeout = Some(whole_seconds(longest));
        self
    }

    /// At most 1 MiB; [`crate::JobManager`] takes more.
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.options.stdin = Some(STANDARD.encode(bytes));
        self.options.stdin_encoding = Some("base64".into());
        self
    }

    /// Gets standard output as it comes; it is also in the result.
    pub fn on_stdout(mut self, tell: impl FnMut(&str) + Send + 'a) -> Self {
        self.tell[0] = Some(Box::new(tell));
        self
    }

    pub fn on_stderr(mut self, tell: impl FnMut(&str) + Send + 'a) -> Self {
        self.tell[1] = Some(Box::new(tell));
        self
    }

    /// Another exit code than 0 is [`SandboxError::Command`].
    pub fn check(mut self) -> Self {
        self.check = true;
        self
    }

    /// The output as it comes; the last event is `exit`, see [`ExecStreamChunk::status`]. Dropping it kills the command.
    pub async fn stream(self) -> Result<EventStream<ExecStreamChunk>> {
        self.sandbox.api().cmd_run_stream(self.sandbox.id(), self.command, self.options).await
    }

    async fn run(mut self) -> Result<ExecResult> {
        let (name, check) = (self.command.to_string(), self.check);
        let result = match &self.tell {
            [None, None] => self.wait().await?,
            _ => self.watch().await?,
        };
        match check {
            true => succeeded(&name, result),
            false => Ok(result),
        }
    }

    async fn wait(self) -> Result<ExecResult> {
        let CmdRunStreamOptions { timeout, cwd, env, user, stdin, stdin_encoding } = self.options;
        let options = CmdRunOptions { timeout, cwd, env, user, stdin, stdin_encoding, ..Default::default() };
        self.sandbox.api().cmd_run(self.sandbox.id(), self.command, options).await
    }

    async fn watch(&mut self) -> Result<ExecResult> {
        let options = std::mem::take(&mut self.options);
        let mut events = self.sandbox.api().cmd_run_stream(self.sandbox.id(), self.command.clone(), options).await?;
        let mut kept = [String::new(), String::new()];
        let mut cut = [false, false];
        while let Some(event) = events.next().await {
            let event = event?;
            if let Some(status) = event.status() {
                return self.ended(status, event.duration, kept, cut);
            }
            let which = usize::from(event.r#type == "stderr");
            let text = event.data.unwrap_or_default();
            if let Some(tell) = &mut self.tell[which] {
                tell(&text);
            }
            cut[which] |= kept[which].len() + text.len() > OUTPUT_MAX;
            if !cut[which] {
                kept[which].push_str(&text);
            }
        }
        Err(SandboxError::Stream(format!(
            "{}: the stream ended before the command",
            self.sandbox.api().http().base_url()
        )))
    }

    fn ended(&self, status: ExitStatus, duration: Option<i64>, kept: [String; 2], cut: [bool; 2]) -> Result<ExecResult> {
        let [stdout, stderr] = kept;
        let result = ExecResult {
            exit_code: status.code,
            stdout,
            stderr,
            duration: duration.unwrap_or_default(),
            user_ms: None,
            system_ms: None,
            max_rss_kb: None,
            stdout_truncated: Some(cut[0]),
            stderr_truncated: Some(cut[1]),
            signal: status.signal,
            timed_out: Some(status.timed_out),
            oom_killed: Some(status.oom_killed),
            warnings: None,
        };
        if !status.timed_out {
            return Ok(result);
        }
        let body = serde_json::json!({ "error": "the command timed out", "result": result }).to_string();
        Err(SandboxError::Http {
            method: "POST".into(),
            address: self.sandbox.api().http().base_url().into(),
            path: format!("/sandbox/sandboxes/{}/exec/stream", self.sandbox.id()),
            status: 504,
            body,
        })
    }
}

impl<'a> IntoFuture for Exec<'a> {
    type Output = Result<ExecResult>;
    type IntoFuture = Pending<'a, ExecResult>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The server counts in seconds: a part of one counts as one.
pub(crate) fn whole_seconds(longest: Duration) -> i64 {
    let more = u64::from(longest.subsec_nanos() > 0);
    i64::try_from(longest.as_secs() + more).unwrap_or(i64::MAX)
}

fn seconds(timeout: u64) -> i64 {
    i64::try_from(timeout).unwrap_or(i64::MAX)
}
