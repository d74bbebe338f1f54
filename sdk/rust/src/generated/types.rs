//! Generated from docs/openapi.json by tools/sdkgen; do not edit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::OneOrMany;

/// Configuration of a sandbox: times in seconds, memory in MB; 0 means no limit
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_mb: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_mbps: Option<i64>,
}

/// One sandbox; times are milliseconds since the epoch. expiresAt 0: it has no expiry. resolvedImage: what the name in image stands for, a full reference or host (this host's own programs); imageVersion: the real version of a preset's program there. withoutAgent: why the container has no agent and runs commands by the engine's exec
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxInfo {
    pub id: String,
    pub name: String,
    pub image: String,
    /// One of `running`, `paused`, `expired`
    pub status: String,
    pub created_at: i64,
    pub expires_at: i64,
    pub config: SandboxConfig,
    pub metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_version: Option<String>,
}

/// The new sandboxes; parentId is their origin
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxFork {
    pub sandboxes: Vec<SandboxInfo>,
}

/// One page of sandboxes; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPage {
    pub items: Vec<SandboxInfo>,
    pub total: i64,
    pub page: i64,
    pub page_size: i64,
}

/// Result of a command; times in milliseconds
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecResult {
    pub exit_code: i64,
    pub stdout: String,
    pub stderr: String,
    pub duration: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rss_kb: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
}

/// A piece of output; the last event is exit with the exit code as a string
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecStreamChunk {
    /// One of `stdout`, `stderr`, `exit`, `error`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// One line of output; the last event is end
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEvent {
    /// One of `stdout`, `stderr`, `end`, `error`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// A command in the background
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundExec {
    pub id: String,
    pub sandbox_id: String,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    pub running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub started_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rss_kb: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// Output from the requested offset, and the next offset in bytes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLogs {
    pub output: String,
    pub cursor: i64,
}

/// A durable command; truncated: the oldest bytes of its output were dropped
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DurableExec {
    pub id: String,
    pub sandbox_id: String,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    pub running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub started_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<i64>,
    pub stdin: bool,
    pub log_bytes: i64,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rss_kb: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// Commands, oldest first
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DurableExecList {
    pub execs: Vec<DurableExec>,
}

/// Output from the requested offset, and the next offset in bytes; it is complete when running is false and output is empty
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecOutput {
    pub output: String,
    pub offset: i64,
    pub running: bool,
    /// One of `utf8`, `base64`
    pub encoding: String,
}

/// A piece of output and the offset after it; the last event is exit with the exit code as a string
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecOutputEvent {
    /// One of `output`, `exit`, `error`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Bytes written, and whether standard input was closed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecWritten {
    pub written: i64,
    pub closed: bool,
}

/// Id of the command, and the signal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecSignalled {
    pub signalled: String,
    pub signal: String,
}

/// A queued command
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueJobInfo {
    pub id: String,
    pub sandbox_id: String,
    pub command: String,
    /// One of `pending`, `running`, `completed`, `failed`, `cancelled`
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ExecResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub retries: i64,
    pub max_retries: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_on_exit: Option<bool>,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Id of the job
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueCancelled {
    pub cancelled: String,
}

/// Queued commands; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueJobPage {
    pub jobs: Vec<QueueJobInfo>,
    pub total: i64,
}

/// An entry of a folder
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    pub name: String,
    pub path: String,
    pub size: i64,
    pub is_directory: bool,
    pub modified_at: i64,
}

/// Entries of a folder
pub type FileInfoList = Vec<FileInfo>;

/// A file; permissions like -rw-r--r--
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMetadata {
    pub path: String,
    pub size: i64,
    pub permissions: String,
    pub owner: String,
    pub group: String,
    pub is_directory: bool,
    pub is_symlink: bool,
    pub modified_at: i64,
}

/// An array for paths, one object for path
pub type FileInfoReply = OneOrMany<FileMetadata>;

/// Absolute paths
pub type PathList = Vec<String>;

/// Content of a file; bytes that are not UTF-8 are replaced
pub type Text = String;

/// Content of a file in padded standard base64
pub type Base64 = String;

/// The operation succeeded
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Success {
    pub success: bool,
}

/// One variable
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvValue {
    pub key: String,
    pub value: Option<String>,
    pub exists: bool,
}

/// Names that were set
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvSet {
    pub set: Vec<String>,
    pub count: i64,
}

/// The effective environment
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvList {
    pub vars: BTreeMap<String, String>,
    pub count: i64,
}

/// Name of the variable
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvDeleted {
    pub deleted: String,
}

/// A changed file; status is git's two-letter code
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitFile {
    pub status: String,
    pub path: String,
}

/// Branch and changed files
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitStatus {
    pub branch: String,
    pub clean: bool,
    pub files: Vec<GitFile>,
}

/// A unified diff
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitDiff {
    pub diff: String,
}

/// A commit; date is ISO 8601
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitLogEntry {
    pub hash: String,
    pub message: String,
    pub author: String,
    pub date: String,
}

/// Commits, newest first
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitLog {
    pub entries: Vec<GitLogEntry>,
}

/// All branches, including remote ones; error: git's message when it failed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitBranches {
    pub branches: Vec<String>,
    pub current: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A process; cpu and memory in percent, as strings
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInfo {
    pub pid: i64,
    pub user: String,
    pub cpu: String,
    pub memory: String,
    pub command: String,
}

/// Processes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessList {
    pub processes: Vec<ProcessInfo>,
}

/// A process; cpu and mem in percent, as strings; vsz and rss in KiB
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessTopInfo {
    pub pid: i64,
    pub cpu: String,
    pub mem: String,
    pub vsz: i64,
    pub rss: i64,
    pub command: String,
}

/// Processes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessTop {
    pub processes: Vec<ProcessTopInfo>,
}

/// Process id and signal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessKilled {
    pub killed: i64,
    pub signal: String,
}

/// A snapshot; snapshotId equals id
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotInfo {
    pub id: String,
    pub snapshot_id: String,
    pub sandbox_id: String,
    pub name: String,
    pub image_id: String,
    pub size: i64,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<SandboxConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Snapshots
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotList {
    pub snapshots: Vec<SnapshotInfo>,
}

/// Id of the deleted object
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub deleted: String,
}

/// An image; source is its origin: a registry, an archive, a sandbox, this host, or a Docker engine
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub name: String,
    pub id: String,
    pub size: i64,
    pub layers: i64,
    pub created_at: i64,
    /// One of `oci`, `tar`, `layer`, `host`, `docker`
    pub source: String,
}

/// Progress of a pull in bytes and layers; the last event is done with the image
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageEvent {
    /// One of `progress`, `done`, `error`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers_done: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Images by name
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageList {
    pub images: Vec<Image>,
}

/// A template
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxTemplate {
    pub id: String,
    pub name: String,
    pub description: String,
    pub config: SandboxConfig,
    pub builtin: bool,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Templates
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateList {
    pub templates: Vec<SandboxTemplate>,
}

/// An exposed port
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortMapping {
    pub container_port: i64,
    pub host_port: i64,
    /// One of `tcp`, `udp`
    pub protocol: String,
    /// One of `mapped`, `active`
    pub state: String,
}

/// Exposed ports
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortList {
    pub ports: Vec<PortMapping>,
}

/// The port
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortRemoved {
    pub removed: i64,
}

/// One direction of a terminal's WebSocket channel
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalChannel {
    #[serde(rename = "channel_id")]
    pub channel_id: String,
    #[serde(rename = "access_key")]
    pub access_key: String,
    /// One of `read`, `write`
    pub direction: String,
}

/// The channels for keys and for output
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalChannels {
    pub writer: TerminalChannel,
    pub reader: TerminalChannel,
}

/// A terminal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSession {
    pub session_id: String,
    pub sandbox_id: String,
    pub exec_id: String,
    pub cols: i64,
    pub rows: i64,
    pub shell: String,
    pub status: String,
    pub backend: String,
    pub created_at: i64,
    pub channel: TerminalChannels,
}

/// Size of a terminal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSize {
    pub cols: i64,
    pub rows: i64,
}

/// Id of the session
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalClosed {
    pub closed: String,
}

/// Response of the server in the sandbox
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyReply {
    pub status_code: i64,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxied_via: Option<String>,
}

/// Settings of the proxy; timeout in milliseconds
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyConfig {
    pub sandbox_id: String,
    pub proxy_base: String,
    pub cors: String,
    pub require_auth: bool,
    pub timeout: i64,
}

/// Standard output, and the error text when the code failed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeResult {
    pub output: String,
    pub error: Option<String>,
    pub execution_time: i64,
}

/// Output of the package manager
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallResult {
    pub output: String,
}

/// An interpreter whose variables live between calls; why: why it is dead or lost. A restart makes it usable again
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    pub id: String,
    pub sandbox_id: String,
    /// One of `python`, `javascript`
    pub language: String,
    pub cwd: String,
    pub created_at: i64,
    pub execution_count: i64,
    /// One of `starting`, `idle`, `busy`, `dead`, `lost`
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Contexts of a sandbox
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextList {
    pub contexts: Vec<Context>,
}

/// A value as text, html, markdown, svg, latex, json, or as png or jpeg in base64
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RichResult {
    pub r#type: String,
    pub data: serde_json::Value,
}

/// Output and results of the code; output equals stdout; state: whether the context still exists
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextResult {
    pub output: String,
    pub error: Option<String>,
    pub execution_time: i64,
    pub results: Vec<RichResult>,
    pub stdout: String,
    pub stderr: String,
    pub error_name: Option<String>,
    pub error_value: Option<String>,
    pub traceback: Vec<String>,
    pub execution_count: i64,
    pub timed_out: bool,
    pub truncated: bool,
    /// One of `starting`, `idle`, `busy`, `dead`, `lost`
    pub state: String,
}

/// A piece of output or a result; the last event is end
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEvent {
    /// One of `stdout`, `stderr`, `result`, `error`, `end`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RichResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceback: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// One of `starting`, `idle`, `busy`, `dead`, `lost`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub timestamp: i64,
}

/// Whether code was running
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextInterrupted {
    pub interrupted: bool,
}

/// Id of the context
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextDeleted {
    pub deleted: String,
}

/// A language
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kernel {
    pub name: String,
    pub language: String,
    pub display_name: String,
}

/// Languages
pub type KernelList = Vec<Kernel>;

/// Resource use of a sandbox, and its limits; 0: none
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxMetrics {
    pub sandbox_id: String,
    pub cpu_percent: f64,
    pub memory_usage_mb: i64,
    pub memory_limit_mb: i64,
    pub network_rx_bytes: i64,
    pub network_tx_bytes: i64,
    pub pids: i64,
    pub cpu_limit: f64,
    pub pids_limit: i64,
    pub disk_usage_mb: i64,
    pub disk_limit_mb: i64,
    pub inodes_limit: i64,
    pub open_files_limit: i64,
    pub shm_limit_mb: i64,
    pub network_limit_mbps: i64,
    pub oom_kills: i64,
}

/// An isolation backend, what it can do here, and why it cannot do the rest
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backend {
    pub name: String,
    pub can: BTreeMap<String, bool>,
    pub lacks: BTreeMap<String, String>,
}

/// Counters of the server
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalMetrics {
    pub active_sandboxes: i64,
    pub total_created: i64,
    pub total_killed: i64,
    pub total_expired: i64,
    pub uptime_seconds: i64,
    pub backends: Vec<Backend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<BTreeMap<String, f64>>,
}

/// The server answers; problems: what an operator should check; missing: features of its backend that this host does not provide
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<String>>,
}

/// Entries of the warm pool
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    pub total: i64,
    pub ready: i64,
    #[serde(rename = "by_profile")]
    pub by_profile: BTreeMap<String, i64>,
}

/// Number of removed sandboxes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    pub swept: i64,
}

/// An OpenAPI 3.1 document
pub type OpenApi = BTreeMap<String, serde_json::Value>;

/// An event
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxEvent {
    pub id: String,
    pub topic: String,
    pub sandbox_id: String,
    pub data: BTreeMap<String, serde_json::Value>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Events; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    pub events: Vec<SandboxEvent>,
    pub total: i64,
}

/// One call
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceRecord {
    pub id: String,
    pub function_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    pub duration: i64,
    /// One of `ok`, `error`
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Traces; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TracePage {
    pub traces: Vec<TraceRecord>,
    pub total: i64,
}

/// Numbers over all traces; durations in milliseconds
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityMetrics {
    pub total_requests: i64,
    pub total_errors: i64,
    pub avg_duration: f64,
    pub p95_duration: f64,
    pub active_sandboxes: i64,
    pub function_counts: BTreeMap<String, i64>,
}

/// Number of deleted traces
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    pub cleared: i64,
}

/// An alert
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAlert {
    pub id: String,
    pub sandbox_id: String,
    /// One of `cpu`, `memory`, `pids`
    pub metric: String,
    pub threshold: f64,
    /// One of `notify`, `pause`, `kill`
    pub action: String,
    pub triggered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checked: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_triggered: Option<i64>,
    pub created_at: i64,
}

/// Alerts
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertList {
    pub alerts: Vec<ResourceAlert>,
}

/// An alert that fired
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertEvent {
    pub alert_id: String,
    pub sandbox_id: String,
    pub metric: String,
    pub value: f64,
    pub threshold: f64,
    pub action: String,
    pub timestamp: i64,
}

/// Alerts that fired; total counts all
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertEventPage {
    pub events: Vec<AlertEvent>,
    pub total: i64,
}

/// A network and its members
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxNetwork {
    pub id: String,
    pub name: String,
    pub docker_network_id: String,
    pub sandboxes: Vec<String>,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// Networks
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkList {
    pub networks: Vec<SandboxNetwork>,
}

/// The sandbox is a member
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkConnected {
    pub connected: bool,
}

/// The sandbox is no longer a member
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDisconnected {
    pub disconnected: bool,
}

/// One rule of an egress policy
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EgressRule {
    /// One of `allow`, `deny`
    pub action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<serde_json::Value>>,
}

/// What a sandbox may connect to; active: it has egress; connections: open connections
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EgressPolicy {
    /// One of `allow`, `deny`
    pub r#default: String,
    pub rules: Vec<EgressRule>,
    pub active: bool,
    pub connections: i64,
}

/// A volume
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxVolume {
    pub id: String,
    pub name: String,
    pub docker_volume_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
}

/// Volumes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeList {
    pub volumes: Vec<SandboxVolume>,
}

/// The volume is mounted
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeAttached {
    pub attached: bool,
    pub mount_path: String,
}

/// The volume is unmounted
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeDetached {
    pub detached: bool,
}

/// A worker
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerInfo {
    pub worker_id: String,
    pub hostname: String,
    pub active_sandboxes: i64,
    pub max_sandboxes: i64,
    pub cpu_percent: f64,
    pub last_heartbeat: i64,
}

/// Workers
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerList {
    pub workers: Vec<WorkerInfo>,
    pub alive: i64,
    pub dead: i64,
}

/// The worker
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerSelected {
    pub worker_id: String,
}

/// Numbers of sandboxes taken over
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkersReaped {
    pub reaped: i64,
    pub reassigned: i64,
    pub expired: i64,
}

/// Number of sandboxes that got an owner
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkersMigrated {
    pub migrated: i64,
}

/// Why a request failed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    pub error: String,
}

/// An API token; only the response that created it has the secret
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub id: String,
    pub name: String,
    /// One of `admin`, `user`, `read-only`
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub created: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<i64>,
    pub revoked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<i64>,
    pub quota: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// All tokens, oldest first
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenList {
    pub tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FsMoveMove {
    /// Path to move
    pub from: String,
    /// New path
    pub to: String,
}

/// Configuration of sandboxes made from it; image is required in it
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateCreateConfig {
    /// Image to start from
    pub image: String,
    /// Name; default: the new id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time to live, seconds; a create moves it into 60 to 86400; default: III_DEFAULT_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Memory, MB; a create moves it into 64 to 4096; default: III_DEFAULT_MEMORY
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// CPUs; a create moves it into 0.5 to 4; default: III_DEFAULT_CPU
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Size of its own disk, MB; 0: no own disk (moved into 0 to 16777216); default: III_DEFAULT_DISK
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
    /// Files and folders on that disk (moved into 0 to 268435456); default: 64 for each MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<i64>,
    /// Processes and threads; a create moves it into 16 to 65536; default: III_PIDS_MAX
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    /// Open files of one process; a create moves it into 64 to 1048576; default: III_OPEN_FILES
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<i64>,
    /// Size of /dev/shm, MB; a create moves it into 1 to 1048576; default: III_SHM_MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_mb: Option<i64>,
    /// Network rate each way, Mbit/s; 0: no limit (moved into 0 to 1000000); default: III_NET_MBPS
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_mbps: Option<i64>,
    /// Idle time after which the sandbox is removed, seconds; a create moves it into 1 to 86400; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<i64>,
    /// Whether the sandbox has a network
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Environment variables
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Working folder; default: III_WORKSPACE_DIR
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Strings stored with the sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Command of the main process
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EgressSetRule {
    /// Action for a matching connection: `allow`, `deny`
    pub action: String,
    /// IPv4 address or range; default: any
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    /// Name that the sandbox looked up; *.name for all names below it; default: any
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Array of up to 32 ports, or ranges like "8000-8100"; default: all
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<serde_json::Value>,
}

/// Optional fields of [`crate::Api::sandbox_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxCreateOptions {
    /// Image to start from; default: III_DEFAULT_IMAGE
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Name; default: the new id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time to live, seconds (moved into 60 to 86400); default: III_DEFAULT_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Memory, MB (moved into 64 to 4096); default: III_DEFAULT_MEMORY
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// CPUs (moved into 0.5 to 4); default: III_DEFAULT_CPU
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Size of its own disk, MB; 0: no own disk (moved into 0 to 16777216); default: III_DEFAULT_DISK
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
    /// Files and folders on that disk (moved into 0 to 268435456); default: 64 for each MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<i64>,
    /// Processes and threads (moved into 16 to 65536); default: III_PIDS_MAX
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    /// Open files of one process (moved into 64 to 1048576); default: III_OPEN_FILES
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<i64>,
    /// Size of /dev/shm, MB (moved into 1 to 1048576); default: III_SHM_MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_mb: Option<i64>,
    /// Network rate each way, Mbit/s; 0: no limit (moved into 0 to 1000000); default: III_NET_MBPS
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_mbps: Option<i64>,
    /// Idle time after which the sandbox is removed, seconds (moved into 1 to 86400); default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<i64>,
    /// Whether the sandbox has a network
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Environment variables
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Working folder; default: III_WORKSPACE_DIR
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Strings stored with the sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Command of the main process
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Isolation backend, one that III_BACKENDS allows; default: III_ISOLATION_BACKEND
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Name or id of a template whose configuration is the base
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::sandbox_list`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxListOptions {
    /// Only sandboxes with this status
    #[serde(skip_serializing)]
    pub status: Option<String>,
    /// Page, from 1 on
    #[serde(skip_serializing)]
    pub page: Option<i64>,
    /// Sandboxes on a page
    #[serde(skip_serializing)]
    pub page_size: Option<i64>,
    /// Only sandboxes with all these pairs
    #[serde(skip_serializing)]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Only clones and forks of this sandbox
    #[serde(skip_serializing)]
    pub parent_id: Option<String>,
}

/// Optional fields of [`crate::Api::sandbox_label`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxLabelOptions {
    /// Pairs to set
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Keys to remove
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<Vec<String>>,
}

/// Optional fields of [`crate::Api::sandbox_clone`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxCloneOptions {
    /// Name of the new sandbox; default: the new id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::sandbox_fork`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxForkOptions {
    /// Number of sandboxes, at most III_MAX_FORK
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Name of the new sandbox; several are called name-1, name-2, …; default: the new ids
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::cmd_run`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdRunOptions {
    /// Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::cmd_run_stream`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdRunStreamOptions {
    /// Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Optional fields of [`crate::Api::cmd_background`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdBackgroundOptions {
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::cmd_background_logs`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdBackgroundLogsOptions {
    /// Byte offset to read from
    #[serde(skip_serializing)]
    pub cursor: Option<i64>,
}

/// Optional fields of [`crate::Api::cmd_interrupt`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdInterruptOptions {
    /// Process id inside the sandbox; default: every running command
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
}

/// Optional fields of [`crate::Api::exec_start`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecStartOptions {
    /// Id for the command: 1 to 63 letters, digits, _ - .; default: a new one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec_id: Option<String>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Timeout, seconds; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Keep standard input open for exec::input
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<bool>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::exec_output`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecOutputOptions {
    /// Byte offset to read from
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
    /// Stream events until the command exits
    #[serde(skip_serializing)]
    pub follow: Option<bool>,
    /// Encoding of the output: `utf8`, `base64`
    #[serde(skip_serializing)]
    pub encoding: Option<String>,
}

/// Optional fields of [`crate::Api::exec_input`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecInputOptions {
    /// Data to write; default: nothing
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Encoding of data: `utf8`, `base64`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Close standard input afterwards
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close: Option<bool>,
}

/// Optional fields of [`crate::Api::exec_signal`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecSignalOptions {
    /// Signal, without SIG: `TERM`, `KILL`, `INT`, `HUP`, `USR1`, `USR2`, `STOP`, `CONT`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Optional fields of [`crate::Api::queue_submit`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueSubmitOptions {
    /// Attempts in all when the command cannot run or times out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i64>,
    /// Whether a non-zero exit code is a failure, too: retried, then a dead letter
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_on_exit: Option<bool>,
    /// Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::queue_dlq`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueDlqOptions {
    /// Maximum number of entries
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
    /// Entries to skip
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
}

/// Optional fields of [`crate::Api::fs_list`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsListOptions {
    /// Folder; default: III_WORKSPACE_DIR
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Optional fields of [`crate::Api::fs_search`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsSearchOptions {
    /// Folder to search below; default: III_WORKSPACE_DIR
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
}

/// Optional fields of [`crate::Api::fs_info`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsInfoOptions {
    /// Paths
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// One path, instead of paths
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Optional fields of [`crate::Api::fs_mkdir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsMkdirOptions {
    /// Paths
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// One path, instead of paths
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Optional fields of [`crate::Api::fs_rmdir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsRmdirOptions {
    /// Paths
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// One path, instead of paths
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Optional fields of [`crate::Api::proc_kill`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ProcKillOptions {
    /// Signal, without SIG: `TERM`, `KILL`, `INT`, `HUP`, `USR1`, `USR2`, `STOP`, `CONT`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Optional fields of [`crate::Api::git_clone`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitCloneOptions {
    /// Folder to clone into
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Branch
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commits of history to fetch
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<i64>,
}

/// Optional fields of [`crate::Api::git_status`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitStatusOptions {
    /// Folder of the repository
    #[serde(skip_serializing)]
    pub path: Option<String>,
}

/// Optional fields of [`crate::Api::git_commit`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitCommitOptions {
    /// Folder of the repository; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Stage everything first
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

/// Optional fields of [`crate::Api::git_diff`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitDiffOptions {
    /// Folder of the repository
    #[serde(skip_serializing)]
    pub path: Option<String>,
    /// Show staged changes
    #[serde(skip_serializing)]
    pub staged: Option<bool>,
    /// Only this file
    #[serde(skip_serializing)]
    pub file: Option<String>,
}

/// Optional fields of [`crate::Api::git_log`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitLogOptions {
    /// Folder of the repository
    #[serde(skip_serializing)]
    pub path: Option<String>,
    /// Commits to show
    #[serde(skip_serializing)]
    pub count: Option<i64>,
}

/// Optional fields of [`crate::Api::git_branch`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitBranchOptions {
    /// Folder of the repository; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Branch to create and switch to, or to delete
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Delete the branch
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<bool>,
}

/// Optional fields of [`crate::Api::git_checkout`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitCheckoutOptions {
    /// Folder of the repository; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Optional fields of [`crate::Api::git_push`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitPushOptions {
    /// Folder of the repository; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Remote
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Branch
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Force the push
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// Optional fields of [`crate::Api::git_pull`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GitPullOptions {
    /// Folder of the repository; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Remote
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// Branch
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Optional fields of [`crate::Api::template_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateCreateOptions {
    /// What it is for; default: empty
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Optional fields of [`crate::Api::snapshot_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotCreateOptions {
    /// Name of the snapshot; default: its id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Optional fields of [`crate::Api::snapshot_clone`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotCloneOptions {
    /// Name of the new sandbox; default: the new id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Optional fields of [`crate::Api::snapshot_create_short`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SnapshotCreateShortOptions {
    /// Name of the snapshot; default: comment, or its id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the snapshot, as older clients send it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Optional fields of [`crate::Api::interp_execute`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct InterpExecuteOptions {
    /// Language: `python`, `javascript`, `typescript`, `go`, `bash`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// Optional fields of [`crate::Api::interp_install`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct InterpInstallOptions {
    /// Package manager or language: `python`, `pip`, `javascript`, `typescript`, `npm`, `go`, `bash`, `apt`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
}

/// Optional fields of [`crate::Api::context_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextCreateOptions {
    /// Language: `python`, `javascript`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
}

/// Optional fields of [`crate::Api::context_execute`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextExecuteOptions {
    /// Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// Optional fields of [`crate::Api::context_execute_stream`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextExecuteStreamOptions {
    /// Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// Optional fields of [`crate::Api::port_expose`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PortExposeOptions {
    /// Port of the host; 0 picks a free one; default: containerPort
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_port: Option<i64>,
    /// Protocol: `tcp`, `udp`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// Optional fields of [`crate::Api::proxy_request`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyRequestOptions {
    /// Method
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path, starting with /
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Headers; values that are not strings are ignored
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, serde_json::Value>>,
    /// Body, not sent with GET and HEAD
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Optional fields of [`crate::Api::proxy_config`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyConfigOptions {
    /// Allowed origin; default: *
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cors: Option<String>,
    /// Whether raw requests need the bearer token
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_auth: Option<bool>,
    /// Timeout of a request, milliseconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// Optional fields of [`crate::Api::terminal_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalCreateOptions {
    /// Columns
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<i64>,
    /// Rows
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<i64>,
    /// /bin/sh, /bin/bash, /bin/zsh or /bin/ash
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
}

/// Optional fields of [`crate::Api::token_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenCreateOptions {
    /// Role of the token: `admin`, `user`, `read-only`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Tenant whose objects it sees: letters, digits and ._-; * with read-only for all tenants; default: a user's own id
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Expiry, milliseconds since the epoch; default: never
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// Limits: sandboxes, memoryMb, cpus, volumes, snapshots, ports, requestsPerMinute. Missing ones are unlimited; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<BTreeMap<String, serde_json::Value>>,
}

/// Optional fields of [`crate::Api::event_history`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct EventHistoryOptions {
    /// Only events of this sandbox
    #[serde(skip_serializing)]
    pub sandbox_id: Option<String>,
    /// Only events of this topic
    #[serde(skip_serializing)]
    pub topic: Option<String>,
    /// Maximum number of entries
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
    /// Entries to skip
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
}

/// Optional fields of [`crate::Api::event_publish`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct EventPublishOptions {
    /// Data of the event
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<BTreeMap<String, serde_json::Value>>,
}

/// Optional fields of [`crate::Api::observability_traces`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservabilityTracesOptions {
    /// Only traces of this sandbox
    #[serde(skip_serializing)]
    pub sandbox_id: Option<String>,
    /// Only traces of this function
    #[serde(skip_serializing)]
    pub function_id: Option<String>,
    /// Maximum number of entries
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
    /// Entries to skip
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
}

/// Optional fields of [`crate::Api::observability_clear`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservabilityClearOptions {
    /// Delete traces older than this, milliseconds since the epoch; default: now
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
}

/// Optional fields of [`crate::Api::stream_logs`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamLogsOptions {
    /// Lines to start with
    #[serde(skip_serializing)]
    pub tail: Option<i64>,
    /// Continue with new lines
    #[serde(skip_serializing)]
    pub follow: Option<bool>,
}

/// Optional fields of [`crate::Api::stream_metrics`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamMetricsOptions {
    /// Seconds between samples
    #[serde(skip_serializing)]
    pub interval: Option<i64>,
}

/// Optional fields of [`crate::Api::stream_events`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamEventsOptions {
    /// Only events of this topic
    #[serde(skip_serializing)]
    pub topic: Option<String>,
    /// Put an id line before each event, for a browser's EventSource
    #[serde(skip_serializing)]
    pub ids: Option<bool>,
}

/// Optional fields of [`crate::Api::alert_set`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AlertSetOptions {
    /// Action when the threshold is reached: `notify`, `pause`, `kill`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}

/// Optional fields of [`crate::Api::alert_history`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AlertHistoryOptions {
    /// Maximum number of entries
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
}

/// Optional fields of [`crate::Api::egress_set`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct EgressSetOptions {
    /// Action when no rule matches: `allow`, `deny`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#default: Option<String>,
    /// Rules; the first match decides; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<EgressSetRule>>,
}

/// Optional fields of [`crate::Api::network_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkCreateOptions {
    /// Driver; default: bridge
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// Optional fields of [`crate::Api::volume_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeCreateOptions {
    /// Accepted for compatibility; there is one kind
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// Optional fields of [`crate::Api::volume_attach`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachOptions {
    /// Mount it read-only
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}
