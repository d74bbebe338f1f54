//! One sandbox, and the functions that make or find one.

use crate::error::Result;
use crate::files::FileSystem;
use crate::generated::*;
use crate::guard::SandboxGuard;
use crate::http::{Api, ClientConfig};
use crate::managers::*;
use crate::sse::EventStream;
use crate::terminal::TerminalManager;
use crate::value::Command;

/// A sandbox. It lives on when this value is dropped; [`Sandbox::guard`] changes that.
#[derive(Clone)]
pub struct Sandbox {
    /// As of the last answer that described it; see [`Sandbox::refresh`].
    pub info: SandboxInfo,
    pub env: EnvManager,
    pub filesystem: FileSystem,
    pub git: GitManager,
    pub interpreter: CodeInterpreter,
    pub contexts: ContextManager,
    pub processes: ProcessManager,
    pub ports: PortManager,
    pub queue: QueueManager,
    pub jobs: JobManager,
    pub streams: StreamManager,
    pub monitor: MonitorManager,
    pub terminal: TerminalManager,
    pub egress: EgressManager,
    api: Api,
}

/// Creates and starts a sandbox; without image and template, of the server's default image (`python`).
pub async fn create_sandbox(options: SandboxCreateOptions, config: Option<ClientConfig>) -> Result<Sandbox> {
    let api = Api::connect(config.unwrap_or_default())?;
    let info = api.sandbox_create(options).await?;
    Ok(Sandbox::new(api, info))
}

/// The first page of sandboxes.
pub async fn list_sandboxes(config: Option<ClientConfig>) -> Result<Vec<SandboxInfo>> {
    let api = Api::connect(config.unwrap_or_default())?;
    Ok(api.sandbox_list(SandboxListOptions::default()).await?.items)
}

pub async fn get_sandbox(id: &str, config: Option<ClientConfig>) -> Result<Sandbox> {
    let api = Api::connect(config.unwrap_or_default())?;
    let info = api.sandbox_get(id).await?;
    Ok(Sandbox::new(api, info))
}

pub async fn list_templates(config: Option<ClientConfig>) -> Result<Vec<SandboxTemplate>> {
    let api = Api::connect(config.unwrap_or_default())?;
    Ok(api.template_list().await?.templates)
}

impl Sandbox {
    /// The sandbox that an answer describes.
    pub fn new(api: Api, info: SandboxInfo) -> Self {
        let id = info.id.as_str();
        Sandbox {
            env: EnvManager::of(&api, id),
            filesystem: FileSystem::of(&api, id),
            git: GitManager::of(&api, id),
            interpreter: CodeInterpreter::of(&api, id),
            contexts: ContextManager::of(&api, id),
            processes: ProcessManager::of(&api, id),
            ports: PortManager::of(&api, id),
            queue: QueueManager::of(&api, id),
            jobs: JobManager::of(&api, id),
            streams: StreamManager::of(&api, id),
            monitor: MonitorManager::of(&api, id),
            terminal: TerminalManager::of(&api, id),
            egress: EgressManager::of(&api, id),
            info,
            api,
        }
    }

    pub fn id(&self) -> &str {
        &self.info.id
    }

    pub fn status(&self) -> &str {
        &self.info.status
    }

    /// Every operation of the server, and the HTTP client for the managers of the server.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Ties the sandbox to a scope: it is killed when the guard is dropped, unless it is kept.
    pub fn guard(self) -> SandboxGuard {
        SandboxGuard::new(self)
    }

    /// Runs a command and waits for its end, at most `timeout` seconds.
    pub async fn exec(&self, command: impl Into<Command>, timeout: Option<u64>) -> Result<ExecResult> {
        let options = CmdRunOptions { timeout: timeout.map(seconds), ..Default::default() };
        self.exec_with(command, options).await
    }

    pub async fn exec_with(&self, command: impl Into<Command>, options: CmdRunOptions) -> Result<ExecResult> {
        self.api.cmd_run(self.id(), command, options).await
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
        self.api.cmd_run_stream(self.id(), command, options).await
    }

    /// Starts a command and does not wait for it.
    pub async fn exec_background(&self, command: impl Into<Command>) -> Result<BackgroundExec> {
        self.api.cmd_background(self.id(), command, CmdBackgroundOptions::default()).await
    }

    pub async fn background_status(&self, exec_id: &str) -> Result<BackgroundExec> {
        self.api.cmd_background_status(exec_id).await
    }

    /// Output of a background command from this byte on.
    pub async fn background_logs(&self, exec_id: &str, cursor: Option<i64>) -> Result<BackgroundLogs> {
        self.api.cmd_background_logs(exec_id, CmdBackgroundLogsOptions { cursor }).await
    }

    /// Several copies at once.
    pub async fn fork(&self, count: i64, name: Option<&str>) -> Result<Vec<Sandbox>> {
        let options = SandboxForkOptions { count: Some(count), name: name.map(Into::into), ..Default::default() };
        let made = self.api.sandbox_fork(self.id(), options).await?.sandboxes;
        Ok(made.into_iter().map(|info| Sandbox::new(self.api.clone(), info)).collect())
    }

    pub async fn pause(&self) -> Result<()> {
        self.api.sandbox_pause(self.id()).await.map(drop)
    }

    pub async fn resume(&self) -> Result<()> {
        self.api.sandbox_resume(self.id()).await.map(drop)
    }

    /// Moves its end to a time in milliseconds since the epoch.
    pub async fn renew(&mut self, expires_at: i64) -> Result<()> {
        self.info = self.api.sandbox_renew(self.id(), expires_at).await?;
        Ok(())
    }

    pub async fn kill(&self) -> Result<()> {
        self.api.sandbox_kill(self.id()).await.map(drop)
    }

    /// Asks the server for `info` again.
    pub async fn refresh(&mut self) -> Result<()> {
        self.info = self.api.sandbox_get(self.id()).await?;
        Ok(())
    }
}

fn seconds(timeout: u64) -> i64 {
    i64::try_from(timeout).unwrap_or(i64::MAX)
}
