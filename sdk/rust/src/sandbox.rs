//! One sandbox, and the functions that make or find one.

use std::fmt;

use crate::error::Result;
use crate::files::FileSystem;
use crate::generated::*;
use crate::guard::SandboxGuard;
use crate::http::{Api, ClientConfig};
use crate::managers::*;
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
    pub service: ServiceManager,
    pub jobs: JobManager,
    pub streams: StreamManager,
    pub monitor: MonitorManager,
    pub terminal: TerminalManager,
    pub egress: EgressManager,
    api: Api,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SandboxInfo { id, status, image, .. } = &self.info;
        write!(f, "Sandbox({id} {status} {image} at {})", self.api.http().base_url())
    }
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

impl From<&str> for SandboxCreateOptions {
    /// The image.
    fn from(image: &str) -> Self {
        SandboxCreateOptions { image: Some(image.into()), ..Default::default() }
    }
}

impl Api {
    /// The server that `III_SANDBOX_URL` and `III_SANDBOX_TOKEN` name.
    pub fn from_env() -> Result<Self> {
        Api::connect(ClientConfig::default())
    }

    pub async fn create(&self, options: impl Into<SandboxCreateOptions>) -> Result<Sandbox> {
        Ok(Sandbox::new(self.clone(), self.sandbox_create(options.into()).await?))
    }

    /// A sandbox by its id, its name or the beginning of its id.
    pub async fn open(&self, id_or_name: &str) -> Result<Sandbox> {
        Ok(Sandbox::new(self.clone(), self.sandbox_get(id_or_name).await?))
    }

    /// The sandbox of this name, awake if it was paused or stopped; or a new one, for which the options are. However
    /// many ask at once, all get the same.
    pub async fn connect_or_create(&self, name: &str, options: impl Into<SandboxCreateOptions>) -> Result<Sandbox> {
        let wanted =
            SandboxCreateOptions { name: Some(name.into()), if_exists: Some("connect".into()), ..options.into() };
        let found = self.sandbox_create(wanted).await?;
        let info = match found.status.as_str() {
            "running" => found,
            _ => self.sandbox_start(&found.id).await?,
        };
        Ok(Sandbox::new(self.clone(), info))
    }

    /// All sandboxes that match; with a page in the options, those of this page.
    pub async fn list(&self, options: SandboxListOptions) -> Result<Vec<Sandbox>> {
        let mut found = Vec::new();
        for page in 1.. {
            let wanted = SandboxListOptions { page: options.page.or(Some(page)), ..options.clone() };
            let reply = self.sandbox_list(wanted).await?;
            let is_last = options.page.is_some() || reply.items.is_empty() || page * reply.page_size >= reply.total;
            found.extend(reply.items.into_iter().map(|info| Sandbox::new(self.clone(), info)));
            if is_last {
                break;
            }
        }
        Ok(found)
    }
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
            service: ServiceManager::of(&api, id),
            jobs: JobManager::of(&api, id),
            streams: StreamManager::of(&api, id),
            monitor: MonitorManager::of(&api, id),
            terminal: TerminalManager::of(&api, id),
            egress: EgressManager::of(&api, id),
            info,
            api,
        }
    }

    /// Creates and starts a sandbox on the server of the environment: `Sandbox::create("python")`, or with options.
    pub async fn create(options: impl Into<SandboxCreateOptions>) -> Result<Self> {
        Api::from_env()?.create(options).await
    }

    /// Finds a sandbox on the server of the environment by its id, its name or the beginning of its id.
    pub async fn connect(id_or_name: &str) -> Result<Self> {
        Api::from_env()?.open(id_or_name).await
    }

    /// [`Api::connect_or_create`] on the server of the environment.
    pub async fn connect_or_create(name: &str, options: impl Into<SandboxCreateOptions>) -> Result<Self> {
        Api::from_env()?.connect_or_create(name, options).await
    }

    /// All sandboxes that match, on the server of the environment.
    pub async fn list(options: SandboxListOptions) -> Result<Vec<Self>> {
        Api::from_env()?.list(options).await
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

    /// A new sandbox with the files and configuration of this one, as a sandbox; `clone()` copies only the handle.
    pub async fn clone_as(&self, name: Option<&str>) -> Result<Sandbox> {
        Ok(Sandbox::new(self.api.clone(), self.clone_sandbox(name).await?))
    }

    /// A link that opens a web server on this port of the sandbox in a browser. On a server with tokens it works once, and
    /// becomes a cookie of that browser.
    pub async fn get_url(&self, port: u16) -> Result<String> {
        let preview = self.api.preview_open(self.id(), port.into(), PreviewOpenOptions::default()).await?;
        Ok(preview.signed_url.unwrap_or(preview.url))
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
