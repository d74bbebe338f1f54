//! Generated from docs/openapi.json by tools/sdkgen; do not edit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::{Command, OneOrMany};

/// A change of a file. moved: it was at oldPath. overflow: changes at and below path were lost, list it again. limit: path is not watched, message says why. gone: the watched folder is not there any more; back: it is there again, list it
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEvent {
    /// One of `ready`, `created`, `modified`, `deleted`, `moved`, `attributes`, `overflow`, `limit`, `gone`, `back`, `error`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub timestamp: i64,
}

/// A signed URL: send this method to it, without a token. once: the first request uses it up
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileUrl {
    pub url: String,
    pub method: String,
    pub path: String,
    pub expires_at: i64,
    pub once: bool,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What was written. A file: size, mode, ETag, time, and whether there was none before. An archive: entries, and size of their contents. A form: its files
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileContent {
    pub path: String,
    pub size: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileContent>>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What shows that a service is ready
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceReady {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// A command that is kept running
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceConfig {
    pub name: String,
    pub command: Command,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<ServiceReady>,
    /// One of `always`, `on-failure`, `no`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_restarts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_timeout: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
}

/// A service. state: waiting for those that it depends on, starting until it is ready, restarting while a pause lasts after its exit, exited with code 0 and not restarted, failed for good; since: of that state, milliseconds since the epoch; restarts: automatic ones; exitCode: of its last process
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    pub name: String,
    /// One of `unknown`, `waiting`, `starting`, `running`, `restarting`, `stopping`, `stopped`, `exited`, `failed`
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    pub restarts: i64,
    pub since: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Services in the order of the configuration
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceList {
    pub services: Vec<Service>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Output from the requested offset, and the next offset in bytes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOutput {
    pub output: String,
    pub offset: i64,
    pub running: bool,
    /// One of `utf8`, `base64`
    pub encoding: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A piece of output and the offset after it; the last event is end: the sandbox has stopped
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOutputEvent {
    /// One of `output`, `end`, `error`
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

/// A public key that may log in by SSH, with the rights of the token that added it
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SshKey {
    pub id: String,
    pub name: String,
    pub r#type: String,
    pub fingerprint: String,
    pub bits: i64,
    pub token: String,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// SSH keys
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SshKeyList {
    pub keys: Vec<SshKey>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Where SSH is served: ssh SANDBOX@host -p port. hostKey: fingerprint of the server's key
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SshInfo {
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A webhook. failingSince: of the first failure since a success; pending, dead: messages that wait, dead letters; dropped: events since the start that found no room; secret: whsec_ and a key in base64, only when it was made or rotated
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    pub id: String,
    pub url: String,
    pub events: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<i64>,
    pub pending: i64,
    pub dead: i64,
    pub dropped: i64,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Webhooks
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookList {
    pub webhooks: Vec<Webhook>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Outcome of one attempt; status: that of the response, if there was one
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTest {
    pub delivered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    pub duration_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A message that is not delivered; id is its header webhook-id
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    pub id: String,
    pub webhook_id: String,
    pub topic: String,
    /// One of `pending`, `dead`
    pub status: String,
    pub attempts: i64,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempt_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// Messages
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeliveryPage {
    pub deliveries: Vec<WebhookDelivery>,
    pub total: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// How many wait for delivery again
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookRetried {
    pub retried: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// How many were removed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookPurged {
    pub purged: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

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
    /// One of `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<String>,
    /// One of `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_idle: Option<String>,
    /// One of `no`, `always`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    /// One of `default`, `strict`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Vec<ServiceConfig>>,
}

/// One sandbox; times are milliseconds since the epoch. expiresAt 0: it has no expiry. resolvedImage: what the name in image stands for, a full reference or host (this host's own programs); imageVersion: the real version of a preset's program there. withoutAgent: why the container has no agent and runs commands by the engine's exec. stopReason, of a stopped or hibernated one: request, timeout, idle, shutdown (of the server), died (its agent did) or lost (its processes were gone when the server started: a reboot); error: what was found then
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxInfo {
    pub id: String,
    pub name: String,
    pub image: String,
    /// One of `running`, `paused`, `expired`, `stopped`, `hibernated`
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Vec<Service>>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The new sandboxes; parentId is their origin
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxFork {
    pub sandboxes: Vec<SandboxInfo>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// One page of sandboxes; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPage {
    pub items: Vec<SandboxInfo>,
    pub total: i64,
    pub page: i64,
    pub page_size: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Result of a command; times in milliseconds. signal: the one that ended it (KILL); its exitCode is 128 and its number
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
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A piece of output; the last event is exit with the exit code as a string (-1: it timed out or did not run), duration (ms) and how it ended
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
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
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Output from the requested offset, and the next offset in bytes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLogs {
    pub output: String,
    pub cursor: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    pub signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_killed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Commands, oldest first
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DurableExecList {
    pub execs: Vec<DurableExec>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Id of the command, and the signal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecSignalled {
    pub signalled: String,
    pub signal: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Id of the job
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueCancelled {
    pub cancelled: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Queued commands; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueJobPage {
    pub jobs: Vec<QueueJobInfo>,
    pub total: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// One variable
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvValue {
    pub key: String,
    pub value: Option<String>,
    pub exists: bool,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Names that were set
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvSet {
    pub set: Vec<String>,
    pub count: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The effective environment
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvList {
    pub vars: BTreeMap<String, String>,
    pub count: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Name of the variable
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvDeleted {
    pub deleted: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A unified diff
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitDiff {
    pub diff: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// All branches, including remote ones; error: git's message when it failed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitBranches {
    pub branches: Vec<String>,
    pub current: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Process id and signal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessKilled {
    pub killed: i64,
    pub signal: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Snapshots
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotList {
    pub snapshots: Vec<SnapshotInfo>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Id of the deleted object
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub deleted: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// An image; source is its origin: a registry, an archive, a sandbox, this host, or a Docker engine; tenant: whose it is, none: the operator's; signedBy: whose signature was accepted
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What the policy says of an image: whether it requires a signature, whose it has, and the digest that was pulled
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageVerification {
    pub name: String,
    pub verified: bool,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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

/// The image that a build made
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuiltImage {
    pub name: String,
    pub id: String,
    pub size: i64,
    pub layers: i64,
    pub created_at: i64,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The log of a build: an instruction (its number, of how many, its line and text), that it came from the cache, notes, progress of a pull, output of a command; the last event is done with the image
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuiltImageEvent {
    /// One of `step`, `cached`, `note`, `progress`, `stdout`, `stderr`, `done`, `error`
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers_done: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<BuiltImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// A layer of an image, by the digest that it has in this store; size: bytes of its files
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageLayer {
    pub digest: String,
    pub size: i64,
}

/// An image of the store with its layers, the lowest first, and what it states: env, entrypoint, cmd, user, workdir, labels, exposedPorts, history and others
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageDetails {
    pub name: String,
    pub id: String,
    /// One of `oci`, `tar`, `layer`, `host`
    pub source: String,
    pub created_at: i64,
    pub size: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    pub layers: Vec<ImageLayer>,
    pub config: BTreeMap<String, serde_json::Value>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Images by name
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageList {
    pub images: Vec<Image>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Templates
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateList {
    pub templates: Vec<SandboxTemplate>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// An exposed port; url: its address on the host, of TCP
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortMapping {
    pub container_port: i64,
    pub host_port: i64,
    /// One of `tcp`, `udp`
    pub protocol: String,
    /// One of `mapped`, `active`
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The address of a port's server, an origin of its own. signedUrl: opens a private one, once, until expiresAt; none on a server without tokens
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    pub port: i64,
    pub url: String,
    pub public: bool,
    pub rewrite_host: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A TCP port that a process of the sandbox listens at; pid, process: whose it is, where the agent may see it; url: its preview address
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListeningPort {
    pub port: i64,
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    pub url: String,
}

/// Exposed ports, and those that listen inside, exposed or not; none of one that sleeps
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortList {
    pub ports: Vec<PortMapping>,
    pub listening: Vec<ListeningPort>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The port
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortRemoved {
    pub removed: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Size of a terminal
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSize {
    pub cols: i64,
    pub rows: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Id of the session
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalClosed {
    pub closed: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Standard output, and the error text when the code failed
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeResult {
    pub output: String,
    pub error: Option<String>,
    pub execution_time: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Output of the package manager
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallResult {
    pub output: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// An interpreter whose variables live between calls; default: it is that of its language; why: why it is dead or lost. A restart makes it usable again
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
    pub r#default: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Contexts of a sandbox
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextList {
    pub contexts: Vec<Context>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Id of the context
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextDeleted {
    pub deleted: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// An isolation backend, what it can do here, and why it cannot do the rest
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backend {
    pub name: String,
    pub can: BTreeMap<String, bool>,
    pub lacks: BTreeMap<String, String>,
}

/// Counters of the server; statuses: how many sandboxes there are of each status
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalMetrics {
    pub active_sandboxes: i64,
    pub total_created: i64,
    pub total_killed: i64,
    pub total_expired: i64,
    pub uptime_seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statuses: Option<BTreeMap<String, i64>>,
    pub backends: Vec<Backend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<BTreeMap<String, f64>>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A call that changed something or was denied; seq: its number, prev and hash: the chain; status 0: it was about to begin
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditLine {
    pub seq: i64,
    pub time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    pub operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<BTreeMap<String, serde_json::Value>>,
    pub status: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_before: Option<i64>,
    pub prev: String,
    pub hash: String,
}

/// Lines, newest first; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    pub lines: Vec<AuditLine>,
    pub total: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Whether the chain is intact, and its first and last line; trimmed: older files were removed; problem: the first line that breaks it
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditVerdict {
    pub intact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What the function answered; none: nothing
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FunctionResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<serde_json::Value>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Entries of the warm pool
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    pub total: i64,
    pub ready: i64,
    #[serde(rename = "by_profile")]
    pub by_profile: BTreeMap<String, i64>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Number of removed sandboxes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    pub swept: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Events; total counts all that match
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    pub events: Vec<SandboxEvent>,
    pub total: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Numbers over all traces; durations in milliseconds
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityMetrics {
    pub total_requests: i64,
    pub total_errors: i64,
    pub avg_duration: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_duration: Option<f64>,
    pub p95_duration: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_duration: Option<f64>,
    pub active_sandboxes: i64,
    pub function_counts: BTreeMap<String, i64>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Number of deleted traces
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    pub cleared: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// An alert
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAlert {
    pub id: String,
    pub sandbox_id: String,
    /// One of `cpu`, `memory`, `pids`, `deniedCalls`
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Alerts
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertList {
    pub alerts: Vec<ResourceAlert>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Networks
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkList {
    pub networks: Vec<SandboxNetwork>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The sandbox is a member
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkConnected {
    pub connected: bool,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The sandbox is no longer a member
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDisconnected {
    pub disconnected: bool,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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

/// An open connection of a sandbox to the outside; name: a name that it looked up and that has this address
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EgressFlow {
    pub address: String,
    pub port: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub opened_at: i64,
}

/// What a sandbox may connect to; active: it has egress; connections: how many are open; flows: up to 100 of them
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EgressPolicy {
    /// One of `allow`, `deny`
    pub r#default: String,
    pub rules: Vec<EgressRule>,
    pub active: bool,
    pub connections: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<EgressFlow>>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A volume; sizeMb: its limit, usedMb: what it takes of the host's disk, as last counted
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_mb: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_mb: Option<i64>,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Volumes
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeList {
    pub volumes: Vec<SandboxVolume>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The volume is mounted
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeAttached {
    pub attached: bool,
    pub mount_path: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The volume is unmounted
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeDetached {
    pub detached: bool,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Workers
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerList {
    pub workers: Vec<WorkerInfo>,
    pub alive: i64,
    pub dead: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The worker
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerSelected {
    pub worker_id: String,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Numbers of sandboxes taken over
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkersReaped {
    pub reaped: i64,
    pub reassigned: i64,
    pub expired: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Number of sandboxes that got an owner
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkersMigrated {
    pub migrated: i64,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// Why a request failed; result: what a command that timed out had printed, with the exitCode -1
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    pub error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ExecResult>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
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
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// All tokens, oldest first
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenList {
    pub tokens: Vec<Token>,
    /// Fields of the request that were ignored or changed, and why
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What shows that it is ready: port, port and http, or command; default: that it was started
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxCreateServiceReady {
    /// Port inside the sandbox that must accept TCP connections
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// Path at that port that must answer GET with a status from 200 to 399
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Instead of a port: shell command, or an array that is run without a shell, that must exit with 0
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Longest time between two checks, milliseconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<i64>,
    /// Time until it must be ready, seconds; then it is killed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxCreateService {
    /// Name: letters, digits, - and _
    pub name: String,
    /// Shell command, or an array that is run without a shell; it stays in the foreground
    pub command: Command,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// User inside the sandbox, as for a command; default: the image's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What shows that it is ready: port, port and http, or command; default: that it was started
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<SandboxCreateServiceReady>,
    /// When it is restarted after it exited: `always`, `on-failure`, `no`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// Restarts in a row, without a run of 10 s between them, before it has failed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_restarts: Option<i64>,
    /// Pause before the first of them, milliseconds; it doubles up to 60000
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<i64>,
    /// Time to exit after SIGTERM, seconds; then it is killed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_timeout: Option<i64>,
    /// Names of services that must be ready before it starts
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FsMoveMove {
    /// Path to move
    pub from: String,
    /// New path
    pub to: String,
}

/// What shows that it is ready: port, port and http, or command; default: that it was started
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateCreateConfigServiceReady {
    /// Port inside the sandbox that must accept TCP connections
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// Path at that port that must answer GET with a status from 200 to 399
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Instead of a port: shell command, or an array that is run without a shell, that must exit with 0
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Longest time between two checks, milliseconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<i64>,
    /// Time until it must be ready, seconds; then it is killed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateCreateConfigService {
    /// Name: letters, digits, - and _
    pub name: String,
    /// Shell command, or an array that is run without a shell; it stays in the foreground
    pub command: Command,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// User inside the sandbox, as for a command; default: the image's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What shows that it is ready: port, port and http, or command; default: that it was started
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<TemplateCreateConfigServiceReady>,
    /// When it is restarted after it exited: `always`, `on-failure`, `no`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// Restarts in a row, without a run of 10 s between them, before it has failed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_restarts: Option<i64>,
    /// Pause before the first of them, milliseconds; it doubles up to 60000
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<i64>,
    /// Time to exit after SIGTERM, seconds; then it is killed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_timeout: Option<i64>,
    /// Names of services that must be ready before it starts
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
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
    /// Time to live, seconds; a create moves it into 60 to III_MAX_TIMEOUT; default: III_DEFAULT_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Memory, MB; a create moves it into 64 to III_MAX_MEMORY; default: III_DEFAULT_MEMORY
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// CPUs; a create moves it into 0.5 to III_MAX_CPUS; default: III_DEFAULT_CPU
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Size of its own disk, MB; 0: no own disk; a create moves it into 16 to III_MAX_DISK; default: III_DEFAULT_DISK
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
    /// Files and folders on that disk; a create moves it into 1024 to 256 for each MB; default: 64 for each MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<i64>,
    /// Processes and threads; a create moves it into 16 to III_MAX_PIDS; default: III_PIDS_MAX
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    /// Open files of one process; a create moves it into 64 to III_MAX_OPEN_FILES; default: III_OPEN_FILES
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<i64>,
    /// Size of /dev/shm, MB; a create moves it into 1 to III_MAX_SHM_MB; default: III_SHM_MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_mb: Option<i64>,
    /// Network rate each way, Mbit/s; 0: no limit; a create moves it into 1 to III_MAX_NET_MBPS; default: III_NET_MBPS
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_mbps: Option<i64>,
    /// Idle time after which onIdle is done, seconds; a create moves it into 1 to III_MAX_TIMEOUT; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<i64>,
    /// What its expiry does: remove it, stop it, pause it or hibernate it: `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<String>,
    /// What its idle time does: the same choices: `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_idle: Option<String>,
    /// Whether it is restarted after a reboot of the host, a stop of the server or its own death: `no`, `always`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// Whether a call to it while it sleeps wakes it; default: III_AUTO_RESUME
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    /// Whether the sandbox has a network
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Environment variables
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// System calls that programs may make: all but a deny list, or only an allow list: `default`, `strict`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp: Option<String>,
    /// Working folder; default: III_WORKSPACE_DIR
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Strings stored with the sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Commands that are kept running; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Vec<TemplateCreateConfigService>>,
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
    /// Time to live, seconds; a create moves it into 60 to III_MAX_TIMEOUT; default: III_DEFAULT_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Memory, MB; a create moves it into 64 to III_MAX_MEMORY; default: III_DEFAULT_MEMORY
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// CPUs; a create moves it into 0.5 to III_MAX_CPUS; default: III_DEFAULT_CPU
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Size of its own disk, MB; 0: no own disk; a create moves it into 16 to III_MAX_DISK; default: III_DEFAULT_DISK
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
    /// Files and folders on that disk; a create moves it into 1024 to 256 for each MB; default: 64 for each MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<i64>,
    /// Processes and threads; a create moves it into 16 to III_MAX_PIDS; default: III_PIDS_MAX
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    /// Open files of one process; a create moves it into 64 to III_MAX_OPEN_FILES; default: III_OPEN_FILES
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<i64>,
    /// Size of /dev/shm, MB; a create moves it into 1 to III_MAX_SHM_MB; default: III_SHM_MB
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_mb: Option<i64>,
    /// Network rate each way, Mbit/s; 0: no limit; a create moves it into 1 to III_MAX_NET_MBPS; default: III_NET_MBPS
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_mbps: Option<i64>,
    /// Idle time after which onIdle is done, seconds; a create moves it into 1 to III_MAX_TIMEOUT; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<i64>,
    /// What its expiry does: remove it, stop it, pause it or hibernate it: `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<String>,
    /// What its idle time does: the same choices: `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_idle: Option<String>,
    /// Whether it is restarted after a reboot of the host, a stop of the server or its own death: `no`, `always`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// Whether a call to it while it sleeps wakes it; default: III_AUTO_RESUME
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    /// Whether the sandbox has a network
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Environment variables
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// System calls that programs may make: all but a deny list, or only an allow list: `default`, `strict`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp: Option<String>,
    /// Working folder; default: III_WORKSPACE_DIR
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Strings stored with the sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Commands that are kept running; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Vec<SandboxCreateService>>,
    /// Command of the main process
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Isolation backend, one that III_BACKENDS allows; default: III_ISOLATION_BACKEND
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Name or id of a template whose configuration is the base
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// When the caller has a sandbox of that name: create another one, or connect to it: `create`, `connect`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_exists: Option<String>,
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

/// Optional fields of [`crate::Api::sandbox_stop`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxStopOptions {
    /// Time for its processes to exit after SIGTERM, seconds; then they are killed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// Optional fields of [`crate::Api::sandbox_restart`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxRestartOptions {
    /// Time for its processes to exit after SIGTERM, seconds; then they are killed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// Optional fields of [`crate::Api::sandbox_policy`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxPolicyOptions {
    /// Idle time after which onIdle is done, seconds; 0: none (0 to III_MAX_TIMEOUT); default: as it is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<i64>,
    /// What its expiry does: remove it, stop it, pause it or hibernate it: `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<String>,
    /// What its idle time does: the same choices: `kill`, `stop`, `pause`, `hibernate`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_idle: Option<String>,
    /// Whether it is restarted after a reboot of the host, a stop of the server or its own death: `no`, `always`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// Whether a call to it while it sleeps wakes it; default: as it is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
}

/// Optional fields of [`crate::Api::sandbox_resize`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxResizeOptions {
    /// Memory, MB; moved into 64 to III_MAX_MEMORY; default: unchanged
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<i64>,
    /// CPUs; moved into 0.5 to III_MAX_CPUS; default: unchanged
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Processes and threads; moved into 16 to III_MAX_PIDS; default: unchanged
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    /// Size of its own disk, MB, not less than it has; at most III_MAX_DISK; default: unchanged
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
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
    /// Number of sandboxes (1 to III_MAX_FORK)
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
    /// Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Standard input; what is larger goes into a file, or to exec::input; default: empty
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Encoding of stdin: `utf8`, `base64`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin_encoding: Option<String>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::cmd_run_stream`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdRunStreamOptions {
    /// Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Standard input; what is larger goes into a file, or to exec::input; default: empty
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Encoding of stdin: `utf8`, `base64`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin_encoding: Option<String>,
}

/// Optional fields of [`crate::Api::cmd_background`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CmdBackgroundOptions {
    /// Absolute working folder inside the sandbox; default: the sandbox's workdir
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the sandbox's own
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
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
    /// User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
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
    /// Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

/// Optional fields of [`crate::Api::queue_list`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueListOptions {
    /// Which: `pending`, `running`, `completed`, `failed`, `cancelled`, `all`
    #[serde(skip_serializing)]
    pub status: Option<String>,
    /// At most this many
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
    /// Skip this many
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
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
    /// Maximum number of entries (moved into 0 to 100000)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Entries to skip
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
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

/// Optional fields of [`crate::Api::fs_watch`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsWatchOptions {
    /// Folder to watch
    #[serde(skip_serializing)]
    pub path: Option<String>,
    /// Also the folders below it
    #[serde(skip_serializing)]
    pub recursive: Option<bool>,
    /// Globs of what is left out, separated by commas: names (node_modules,.git,*.pyc), or with a slash paths below the folder
    #[serde(skip_serializing)]
    pub exclude: Option<String>,
}

/// Optional fields of [`crate::Api::fs_sign`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FsSignOptions {
    /// get: the URL downloads; put: it uploads: `get`, `put`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// How long the URL is valid, seconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<i64>,
    /// Whether the first request uses it up
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<bool>,
    /// Longest body of an upload, bytes
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<i64>,
    /// Content-Type that the upload must have
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Download the file or folder as an archive of this format: `tar`, `tar.gz`, `tar.zst`, `zip`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// Optional fields of [`crate::Api::proc_kill`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ProcKillOptions {
    /// Signal, without SIG: `TERM`, `KILL`, `INT`, `HUP`, `USR1`, `USR2`, `STOP`, `CONT`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Optional fields of [`crate::Api::service_list`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceListOptions {
    /// Answer when none is about to start, to be ready or to stop, or after so many seconds
    #[serde(skip_serializing)]
    pub wait: Option<i64>,
}

/// Optional fields of [`crate::Api::service_logs`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceLogsOptions {
    /// Byte offset to read from
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
    /// Stream events until the sandbox stops
    #[serde(skip_serializing)]
    pub follow: Option<bool>,
    /// Encoding of the output: `utf8`, `base64`
    #[serde(skip_serializing)]
    pub encoding: Option<String>,
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
    /// Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

/// Optional fields of [`crate::Api::context_execute_stream`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextExecuteStreamOptions {
    /// Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT
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

/// Optional fields of [`crate::Api::preview_open`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PreviewOpenOptions {
    /// Whether anyone who can reach this server may open it; remembered
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<bool>,
    /// Whether the server inside sees Host and Origin as localhost:port; remembered
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite_host: Option<bool>,
    /// How long the signed link and its cookie are valid, seconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<i64>,
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
    /// The one sandbox that it is for: id, or name; its tenant is the token's; default: all of its tenant
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What it may call: groups (exec, files) and ids of operations; default: all of its role
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<String>>,
    /// Expiry, milliseconds since the epoch; default: never
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// Limits: sandboxes, memoryMb, cpus, volumes, snapshots, ports, webhooks, diskMb, requestsPerMinute. Missing ones are unlimited; default: none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<BTreeMap<String, serde_json::Value>>,
}

/// Optional fields of [`crate::Api::ssh_key_add`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SshKeyAddOptions {
    /// What to call it; default: the comment in the key
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The one sandbox that it opens: id, or name; default: all of its tenant
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Expiry, milliseconds since the epoch; default: never
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
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

/// Optional fields of [`crate::Api::webhook_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookCreateOptions {
    /// Patterns of topics, * matches any text: sandbox.*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Only events of this sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    /// Only events of sandboxes with these pairs of metadata
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Text for people
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it gets events; those that wait stay
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Optional fields of [`crate::Api::webhook_list`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookListOptions {
    /// Only webhooks for events of this sandbox
    #[serde(skip_serializing)]
    pub sandbox_id: Option<String>,
}

/// Optional fields of [`crate::Api::webhook_update`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookUpdateOptions {
    /// https:// address that receives POST requests; http:// if III_WEBHOOK_PLAIN allows it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Patterns of topics, * matches any text: sandbox.*
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Only events of this sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    /// Only events of sandboxes with these pairs of metadata
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Text for people
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it gets events; those that wait stay
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Optional fields of [`crate::Api::webhook_rotate`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookRotateOptions {
    /// How long the former secret also signs, seconds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<i64>,
}

/// Optional fields of [`crate::Api::webhook_deliveries`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookDeliveriesOptions {
    /// Which: pending, dead, or all: `pending`, `dead`, `all`
    #[serde(skip_serializing)]
    pub status: Option<String>,
    /// At most this many
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
    /// Skip this many
    #[serde(skip_serializing)]
    pub offset: Option<i64>,
}

/// Optional fields of [`crate::Api::webhook_purge`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookPurgeOptions {
    /// Which: pending, dead, or all: `pending`, `dead`, `all`
    #[serde(skip_serializing)]
    pub status: Option<String>,
}

/// Optional fields of [`crate::Api::webhook_retry`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookRetryOptions {
    /// The one to retry; default: every dead letter
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<String>,
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
    /// Driver; there is one; default: bridge
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// Optional fields of [`crate::Api::volume_create`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeCreateOptions {
    /// Driver; there is one; default: local
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Size, MB, at most III_MAX_DISK; III_VOLUME_MB when it is not given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_mb: Option<i64>,
}

/// Optional fields of [`crate::Api::volume_attach`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachOptions {
    /// Mount it read-only
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

/// Optional fields of [`crate::Api::audit_list`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditListOptions {
    /// Only operations that begin with this
    #[serde(skip_serializing)]
    pub operation: Option<String>,
    /// Only calls of the token with this id or name
    #[serde(skip_serializing)]
    pub by: Option<String>,
    /// Only calls of this tenant
    #[serde(skip_serializing)]
    pub tenant: Option<String>,
    /// Only this status
    #[serde(skip_serializing)]
    pub status: Option<i64>,
    /// Only lines from this time on, milliseconds since the epoch
    #[serde(skip_serializing)]
    pub since: Option<i64>,
    /// Only lines with a lower number
    #[serde(skip_serializing)]
    pub before: Option<i64>,
    /// At most this many
    #[serde(skip_serializing)]
    pub limit: Option<i64>,
}

/// Optional fields of [`crate::Api::function_call`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct FunctionCallOptions {
    /// What it gets
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<BTreeMap<String, serde_json::Value>>,
    /// How long to wait for its answer, seconds (moved into 1 to 300)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}
