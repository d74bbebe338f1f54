//! Generated from docs/openapi.json by tools/sdkgen; do not edit.

use std::collections::BTreeMap;

use reqwest::Method;

use super::types::*;
use crate::error::Result;
use crate::http::{object, segment, Api, Call};
use crate::sse::EventStream;
use crate::value::Command;

/// Every operation of the server.
pub const OPERATIONS: &[&str] = &[
    "sandbox_create",
    "sandbox_list",
    "sandbox_get",
    "sandbox_kill",
    "sandbox_pause",
    "sandbox_resume",
    "sandbox_stop",
    "sandbox_start",
    "sandbox_restart",
    "sandbox_hibernate",
    "sandbox_policy",
    "sandbox_renew",
    "sandbox_resize",
    "sandbox_label",
    "sandbox_clone",
    "sandbox_fork",
    "cmd_run",
    "cmd_run_stream",
    "cmd_background",
    "cmd_background_status",
    "cmd_background_logs",
    "cmd_interrupt",
    "exec_start",
    "exec_list",
    "exec_get",
    "exec_output",
    "exec_input",
    "exec_signal",
    "queue_submit",
    "queue_list",
    "queue_status",
    "queue_cancel",
    "queue_retry",
    "queue_dlq",
    "fs_read",
    "fs_write",
    "fs_delete",
    "fs_list",
    "fs_search",
    "fs_upload",
    "fs_download",
    "fs_info",
    "fs_move",
    "fs_mkdir",
    "fs_rmdir",
    "fs_chmod",
    "fs_watch",
    "fs_sign",
    "link_rotate",
    "env_get",
    "env_set",
    "env_list",
    "env_delete",
    "proc_list",
    "proc_top",
    "proc_kill",
    "service_list",
    "service_start",
    "service_stop",
    "service_restart",
    "service_logs",
    "git_clone",
    "git_status",
    "git_commit",
    "git_diff",
    "git_log",
    "git_branch",
    "git_checkout",
    "git_push",
    "git_pull",
    "template_create",
    "template_list",
    "template_get",
    "template_delete",
    "image_list",
    "image_delete_query",
    "image_pull",
    "image_verify",
    "image_inspect",
    "image_delete",
    "snapshot_create",
    "snapshot_list",
    "snapshot_restore",
    "snapshot_clone",
    "snapshot_delete",
    "snapshot_create_short",
    "metrics_sandbox",
    "metrics_global",
    "health",
    "pool_status",
    "ttl_sweep",
    "openapi",
    "interp_execute",
    "interp_install",
    "interp_kernels",
    "context_create",
    "context_list",
    "context_get",
    "context_delete",
    "context_execute",
    "context_execute_stream",
    "context_interrupt",
    "context_restart",
    "port_expose",
    "port_list",
    "port_unexpose",
    "preview_open",
    "proxy_request",
    "proxy_config",
    "terminal_create",
    "terminal_resize",
    "terminal_close",
    "token_create",
    "token_list",
    "token_get",
    "token_revoke",
    "token_rotate",
    "ssh_key_add",
    "ssh_key_list",
    "ssh_key_delete",
    "ssh_info",
    "event_history",
    "event_publish",
    "observability_traces",
    "observability_metrics",
    "observability_clear",
    "stream_logs",
    "stream_metrics",
    "stream_events",
    "alert_set",
    "alert_list",
    "alert_delete",
    "alert_history",
    "webhook_create",
    "webhook_list",
    "webhook_get",
    "webhook_update",
    "webhook_delete",
    "webhook_test",
    "webhook_rotate",
    "webhook_deliveries",
    "webhook_purge",
    "webhook_retry",
    "egress_get",
    "egress_set",
    "network_create",
    "network_list",
    "network_connect",
    "network_disconnect",
    "network_delete",
    "volume_create",
    "volume_list",
    "volume_delete",
    "volume_attach",
    "volume_detach",
    "worker_list",
    "worker_select",
    "worker_reap",
    "worker_migrate",
    "worker_heartbeat",
    "audit_list",
    "audit_verify",
    "function_call",
];

impl Api {
    /// Create and start a sandbox from an image or a template
    pub async fn sandbox_create(&self, options: SandboxCreateOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, "/sandbox/sandboxes");
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// List sandboxes, page by page
    pub async fn sandbox_list(&self, options: SandboxListOptions) -> Result<SandboxPage> {
        let mut call = Call::new(Method::GET, "/sandbox/sandboxes");
        call.ask("status", options.status.as_ref())?;
        call.ask("page", options.page.as_ref())?;
        call.ask("pageSize", options.page_size.as_ref())?;
        call.ask("metadata", options.metadata.as_ref())?;
        call.ask("parentId", options.parent_id.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Get one sandbox
    pub async fn sandbox_get(&self, id: &str) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Stop a sandbox and remove it
    pub async fn sandbox_kill(&self, id: &str) -> Result<Success> {
        let call = Call::new(Method::DELETE, format!("/sandbox/sandboxes/{}", segment("id", id)?));
        self.http().json(call).await
    }

    /// Freeze all processes of a running sandbox
    pub async fn sandbox_pause(&self, id: &str) -> Result<SandboxInfo> {
        let call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/pause", segment("id", id)?));
        self.http().json(call).await
    }

    /// Resume a paused sandbox
    pub async fn sandbox_resume(&self, id: &str) -> Result<SandboxInfo> {
        let call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/resume", segment("id", id)?));
        self.http().json(call).await
    }

    /// End the processes of a sandbox; its files and settings are kept
    pub async fn sandbox_stop(&self, id: &str, options: SandboxStopOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/stop", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Start a stopped or hibernated sandbox again, or resume a paused one
    pub async fn sandbox_start(&self, id: &str) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/start", segment("id", id)?));
        call.long = true;
        self.http().json(call).await
    }

    /// Stop a sandbox and start it again with its files
    pub async fn sandbox_restart(&self, id: &str, options: SandboxRestartOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/restart", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Save memory and files of a sandbox to disk and end it; a start continues its processes
    pub async fn sandbox_hibernate(&self, id: &str) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/hibernate", segment("id", id)?));
        call.long = true;
        self.http().json(call).await
    }

    /// Change what a sandbox does when it expires, when it is idle and when it is called asleep
    pub async fn sandbox_policy(&self, id: &str, options: SandboxPolicyOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/policy", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Set the expiry of a sandbox
    pub async fn sandbox_renew(&self, id: &str, expires_at: i64) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/renew", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("expiresAt".into(), serde_json::to_value(expires_at)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Change the limits of a sandbox while it runs; its disk only grows
    pub async fn sandbox_resize(&self, id: &str, options: SandboxResizeOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/limits", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Change the metadata of a sandbox: keys are removed, then pairs are set
    pub async fn sandbox_label(&self, id: &str, options: SandboxLabelOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/metadata", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Start a new sandbox with the files and configuration of this one
    pub async fn sandbox_clone(&self, id: &str, options: SandboxCloneOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/clone", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// Start several new sandboxes with the files and configuration of this one
    pub async fn sandbox_fork(&self, id: &str, options: SandboxForkOptions) -> Result<SandboxFork> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/fork", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// Run a command and wait for it
    pub async fn cmd_run(&self, id: &str, command: impl Into<Command>, options: CmdRunOptions) -> Result<ExecResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/exec", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("command".into(), serde_json::to_value(command.into() as Command)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// Run a command and stream its output
    pub async fn cmd_run_stream(&self, id: &str, command: impl Into<Command>, options: CmdRunStreamOptions) -> Result<EventStream<ExecStreamChunk>> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/exec/stream", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("command".into(), serde_json::to_value(command.into() as Command)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().events(call).await
    }

    /// Start a command in the background
    pub async fn cmd_background(&self, id: &str, command: impl Into<Command>, options: CmdBackgroundOptions) -> Result<BackgroundExec> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/exec/background", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("command".into(), serde_json::to_value(command.into() as Command)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// State of a background command
    pub async fn cmd_background_status(&self, id: &str) -> Result<BackgroundExec> {
        let mut call = Call::new(Method::GET, format!("/sandbox/exec/background/{}/status", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Output of a background command from a byte offset
    pub async fn cmd_background_logs(&self, id: &str, options: CmdBackgroundLogsOptions) -> Result<BackgroundLogs> {
        let mut call = Call::new(Method::GET, format!("/sandbox/exec/background/{}/logs", segment("id", id)?));
        call.ask("cursor", options.cursor.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Send SIGINT to one process, or to every running command
    pub async fn cmd_interrupt(&self, id: &str, options: CmdInterruptOptions) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/exec/interrupt", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Start a durable command, which outlives the connection
    pub async fn exec_start(&self, id: &str, command: impl Into<Command>, options: ExecStartOptions) -> Result<DurableExec> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/exec/start", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("command".into(), serde_json::to_value(command.into() as Command)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// Durable commands of a sandbox, including those that have exited
    pub async fn exec_list(&self, id: &str) -> Result<DurableExecList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/exec/list", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// State of a durable command
    pub async fn exec_get(&self, exec_id: &str) -> Result<DurableExec> {
        let mut call = Call::new(Method::GET, format!("/sandbox/exec/{}", segment("execId", exec_id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Output of a durable command from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn exec_output(&self, exec_id: &str, options: ExecOutputOptions) -> Result<ExecOutput> {
        let mut call = Call::new(Method::GET, format!("/sandbox/exec/{}/output", segment("execId", exec_id)?));
        call.ask("offset", options.offset.as_ref())?;
        call.ask("follow", options.follow.as_ref())?;
        call.ask("encoding", options.encoding.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Output of a durable command from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn exec_output_events(&self, exec_id: &str, options: ExecOutputOptions) -> Result<EventStream<ExecOutputEvent>> {
        let mut call = Call::new(Method::GET, format!("/sandbox/exec/{}/output", segment("execId", exec_id)?));
        call.ask("offset", options.offset.as_ref())?;
        call.ask("follow", options.follow.as_ref())?;
        call.ask("encoding", options.encoding.as_ref())?;
        call.safe = true;
        self.http().events(call).await
    }

    /// Write to the standard input of a durable command, or close it
    pub async fn exec_input(&self, exec_id: &str, options: ExecInputOptions) -> Result<ExecWritten> {
        let mut call = Call::new(Method::POST, format!("/sandbox/exec/{}/input", segment("execId", exec_id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Send a signal to the process group of a durable command
    pub async fn exec_signal(&self, exec_id: &str, options: ExecSignalOptions) -> Result<ExecSignalled> {
        let mut call = Call::new(Method::POST, format!("/sandbox/exec/{}/signal", segment("execId", exec_id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Queue a command
    pub async fn queue_submit(&self, id: &str, command: impl Into<Command>, options: QueueSubmitOptions) -> Result<QueueJobInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/exec/queue", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("command".into(), serde_json::to_value(command.into() as Command)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        call.idempotency_key = options.idempotency_key;
        self.http().json(call).await
    }

    /// Queued commands of a sandbox, oldest first, with those that have finished
    pub async fn queue_list(&self, id: &str, options: QueueListOptions) -> Result<QueueJobPage> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/exec/queue", segment("id", id)?));
        call.ask("status", options.status.as_ref())?;
        call.ask("limit", options.limit.as_ref())?;
        call.ask("offset", options.offset.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// State of a queued command
    pub async fn queue_status(&self, job_id: &str) -> Result<QueueJobInfo> {
        let mut call = Call::new(Method::GET, format!("/sandbox/queue/{}/status", segment("jobId", job_id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Cancel a waiting command, or terminate a running one
    pub async fn queue_cancel(&self, job_id: &str) -> Result<QueueCancelled> {
        let call = Call::new(Method::POST, format!("/sandbox/queue/{}/cancel", segment("jobId", job_id)?));
        self.http().json(call).await
    }

    /// Retry a command that finally failed
    pub async fn queue_retry(&self, job_id: &str) -> Result<QueueJobInfo> {
        let call = Call::new(Method::POST, format!("/sandbox/queue/{}/retry", segment("jobId", job_id)?));
        self.http().json(call).await
    }

    /// Dead letters: commands that finally failed
    pub async fn queue_dlq(&self, options: QueueDlqOptions) -> Result<QueueJobPage> {
        let mut call = Call::new(Method::GET, "/sandbox/queue/dlq");
        call.ask("limit", options.limit.as_ref())?;
        call.ask("offset", options.offset.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Read a text file
    pub async fn fs_read(&self, id: &str, path: &str) -> Result<Text> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/read", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("path".into(), serde_json::to_value(path)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.safe = true;
        self.http().json(call).await
    }

    /// Write a text file; missing parent folders are created
    pub async fn fs_write(&self, id: &str, path: &str, content: &str) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/write", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("path".into(), serde_json::to_value(path)?);
        body.insert("content".into(), serde_json::to_value(content)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Delete a file; a missing one is not an error
    pub async fn fs_delete(&self, id: &str, path: &str) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/delete", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("path".into(), serde_json::to_value(path)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List a folder; a missing one is empty
    pub async fn fs_list(&self, id: &str, options: FsListOptions) -> Result<FileInfoList> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/list", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.safe = true;
        self.http().json(call).await
    }

    /// Find regular files by a glob on their name
    pub async fn fs_search(&self, id: &str, pattern: &str, options: FsSearchOptions) -> Result<PathList> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/search", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("pattern".into(), serde_json::to_value(pattern)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.safe = true;
        self.http().json(call).await
    }

    /// Write a file from base64
    pub async fn fs_upload(&self, id: &str, path: &str, content: &str) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/upload", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("path".into(), serde_json::to_value(path)?);
        body.insert("content".into(), serde_json::to_value(content)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Read a file as base64
    pub async fn fs_download(&self, id: &str, path: &str) -> Result<Base64> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/download", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("path".into(), serde_json::to_value(path)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.safe = true;
        self.http().json(call).await
    }

    /// Describe files: an array for paths, one object for path
    pub async fn fs_info(&self, id: &str, options: FsInfoOptions) -> Result<FileInfoReply> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/info", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.safe = true;
        self.http().json(call).await
    }

    /// Move files in order, up to the first failure
    pub async fn fs_move(&self, id: &str, moves: &[FsMoveMove]) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/move", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("moves".into(), serde_json::to_value(moves)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Create folders with their parents
    pub async fn fs_mkdir(&self, id: &str, options: FsMkdirOptions) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/mkdir", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Remove folders with everything in them
    pub async fn fs_rmdir(&self, id: &str, options: FsRmdirOptions) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/rmdir", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Change the mode of a file
    pub async fn fs_chmod(&self, id: &str, path: &str, mode: &str) -> Result<Success> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/chmod", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("path".into(), serde_json::to_value(path)?);
        body.insert("mode".into(), serde_json::to_value(mode)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Changes of the files below a folder, as they occur; the first event is ready
    pub async fn fs_watch(&self, id: &str, options: FsWatchOptions) -> Result<EventStream<FileEvent>> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/files/watch", segment("id", id)?));
        call.ask("path", options.path.as_ref())?;
        call.ask("recursive", options.recursive.as_ref())?;
        call.ask("exclude", options.exclude.as_ref())?;
        call.safe = true;
        self.http().events(call).await
    }

    /// Get a URL that downloads or uploads one file without a token, until it expires
    pub async fn fs_sign(&self, id: &str, path: &str, options: FsSignOptions) -> Result<FileUrl> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/files/sign", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("path".into(), serde_json::to_value(path)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Replace the key that signs links: every file URL, preview link and preview cookie made before ends
    pub async fn link_rotate(&self) -> Result<Success> {
        let call = Call::new(Method::POST, "/sandbox/links/rotate");
        self.http().json(call).await
    }

    /// Get one variable
    pub async fn env_get(&self, id: &str, key: &str) -> Result<EnvValue> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/env/get", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("key".into(), serde_json::to_value(key)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.safe = true;
        self.http().json(call).await
    }

    /// Set variables
    pub async fn env_set(&self, id: &str, vars: &BTreeMap<String, String>) -> Result<EnvSet> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/env", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("vars".into(), serde_json::to_value(vars)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List the effective environment
    pub async fn env_list(&self, id: &str) -> Result<EnvList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/env", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete a variable; a missing one is not an error
    pub async fn env_delete(&self, id: &str, key: &str) -> Result<EnvDeleted> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/env/delete", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("key".into(), serde_json::to_value(key)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List processes
    pub async fn proc_list(&self, id: &str) -> Result<ProcessList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/processes", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// List processes with their use of CPU and memory
    pub async fn proc_top(&self, id: &str) -> Result<ProcessTop> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/processes/top", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Send a signal to a process
    pub async fn proc_kill(&self, id: &str, pid: i64, options: ProcKillOptions) -> Result<ProcessKilled> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/processes/kill", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("pid".into(), serde_json::to_value(pid)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Services of a sandbox and their states
    pub async fn service_list(&self, id: &str, options: ServiceListOptions) -> Result<ServiceList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/services", segment("id", id)?));
        call.ask("wait", options.wait.as_ref())?;
        call.safe = true;
        call.long = true;
        self.http().json(call).await
    }

    /// Start a service that does not run
    pub async fn service_start(&self, id: &str, name: &str) -> Result<Service> {
        let call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/services/{}/start", segment("id", id)?, segment("name", name)?));
        self.http().json(call).await
    }

    /// Stop a service; a request starts it, or the next start of its sandbox
    pub async fn service_stop(&self, id: &str, name: &str) -> Result<Service> {
        let call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/services/{}/stop", segment("id", id)?, segment("name", name)?));
        self.http().json(call).await
    }

    /// Stop a service and start it again, with the environment that the sandbox has now
    pub async fn service_restart(&self, id: &str, name: &str) -> Result<Service> {
        let call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/services/{}/restart", segment("id", id)?, segment("name", name)?));
        self.http().json(call).await
    }

    /// Output of a service from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn service_logs(&self, id: &str, name: &str, options: ServiceLogsOptions) -> Result<ServiceOutput> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/services/{}/logs", segment("id", id)?, segment("name", name)?));
        call.ask("offset", options.offset.as_ref())?;
        call.ask("follow", options.follow.as_ref())?;
        call.ask("encoding", options.encoding.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Output of a service from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn service_logs_events(&self, id: &str, name: &str, options: ServiceLogsOptions) -> Result<EventStream<ServiceOutputEvent>> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/services/{}/logs", segment("id", id)?, segment("name", name)?));
        call.ask("offset", options.offset.as_ref())?;
        call.ask("follow", options.follow.as_ref())?;
        call.ask("encoding", options.encoding.as_ref())?;
        call.safe = true;
        self.http().events(call).await
    }

    /// Clone a repository
    pub async fn git_clone(&self, id: &str, url: &str, options: GitCloneOptions) -> Result<ExecResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/git/clone", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("url".into(), serde_json::to_value(url)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Branch and changed files
    pub async fn git_status(&self, id: &str, options: GitStatusOptions) -> Result<GitStatus> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/git/status", segment("id", id)?));
        call.ask("path", options.path.as_ref())?;
        call.safe = true;
        call.long = true;
        self.http().json(call).await
    }

    /// Commit; with all, stage everything first
    pub async fn git_commit(&self, id: &str, message: &str, options: GitCommitOptions) -> Result<ExecResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/git/commit", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("message".into(), serde_json::to_value(message)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Changes of the working tree, or staged changes
    pub async fn git_diff(&self, id: &str, options: GitDiffOptions) -> Result<GitDiff> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/git/diff", segment("id", id)?));
        call.ask("path", options.path.as_ref())?;
        call.ask("staged", options.staged.as_ref())?;
        call.ask("file", options.file.as_ref())?;
        call.safe = true;
        call.long = true;
        self.http().json(call).await
    }

    /// Commits, newest first
    pub async fn git_log(&self, id: &str, options: GitLogOptions) -> Result<GitLog> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/git/log", segment("id", id)?));
        call.ask("path", options.path.as_ref())?;
        call.ask("count", options.count.as_ref())?;
        call.safe = true;
        call.long = true;
        self.http().json(call).await
    }

    /// List branches; with a name, create or delete that branch first
    pub async fn git_branch(&self, id: &str, options: GitBranchOptions) -> Result<GitBranches> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/git/branch", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Check out a branch, tag or commit
    pub async fn git_checkout(&self, id: &str, r#ref: &str, options: GitCheckoutOptions) -> Result<ExecResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/git/checkout", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("ref".into(), serde_json::to_value(r#ref)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Push to a remote
    pub async fn git_push(&self, id: &str, options: GitPushOptions) -> Result<ExecResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/git/push", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Pull from a remote
    pub async fn git_pull(&self, id: &str, options: GitPullOptions) -> Result<ExecResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/git/pull", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Save a template
    pub async fn template_create(&self, name: &str, config: &TemplateCreateConfig, options: TemplateCreateOptions) -> Result<SandboxTemplate> {
        let mut call = Call::new(Method::POST, "/sandbox/templates");
        let mut body = object(&options)?;
        body.insert("name".into(), serde_json::to_value(name)?);
        body.insert("config".into(), serde_json::to_value(config)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List templates
    pub async fn template_list(&self) -> Result<TemplateList> {
        let mut call = Call::new(Method::GET, "/sandbox/templates");
        call.safe = true;
        self.http().json(call).await
    }

    /// Get one template
    pub async fn template_get(&self, id: &str) -> Result<SandboxTemplate> {
        let mut call = Call::new(Method::GET, format!("/sandbox/templates/{}", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete a template that is not built in
    pub async fn template_delete(&self, id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/templates/{}", segment("id", id)?));
        self.http().json(call).await
    }

    /// Images in the store, and the presets this host can run
    pub async fn image_list(&self) -> Result<ImageList> {
        let mut call = Call::new(Method::GET, "/sandbox/images");
        call.safe = true;
        self.http().json(call).await
    }

    /// Remove an image named in the query
    pub async fn image_delete_query(&self, name: &str) -> Result<Deleted> {
        let mut call = Call::new(Method::DELETE, "/sandbox/images");
        call.ask("name", Some(&name))?;
        self.http().json(call).await
    }

    /// Pull an image from its registry; with Accept: text/event-stream the progress is streamed
    pub async fn image_pull(&self, image: &str) -> Result<Image> {
        let mut call = Call::new(Method::POST, "/sandbox/images/pull");
        let mut body = serde_json::Map::new();
        body.insert("image".into(), serde_json::to_value(image)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Pull an image from its registry; with Accept: text/event-stream the progress is streamed
    pub async fn image_pull_events(&self, image: &str) -> Result<EventStream<ImageEvent>> {
        let mut call = Call::new(Method::POST, "/sandbox/images/pull");
        let mut body = serde_json::Map::new();
        body.insert("image".into(), serde_json::to_value(image)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().events(call).await
    }

    /// Check the stored signature of an image against the policy again; 403 when the policy denies the image
    pub async fn image_verify(&self, name: &str) -> Result<ImageVerification> {
        let mut call = Call::new(Method::GET, "/sandbox/images/verify");
        call.ask("name", Some(&name))?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Layers, sizes and configuration of an image in the store
    pub async fn image_inspect(&self, name: &str) -> Result<ImageDetails> {
        let mut call = Call::new(Method::GET, "/sandbox/images/inspect");
        call.ask("name", Some(&name))?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Remove an image of the caller's tenant; those of the operator need an admin. The name is percent-encoded. Running sandboxes of it continue
    pub async fn image_delete(&self, name: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/images/{}", segment("name", name)?));
        self.http().json(call).await
    }

    /// Take a snapshot
    pub async fn snapshot_create(&self, id: &str, options: SnapshotCreateOptions) -> Result<SnapshotInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/snapshots", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// List the snapshots of a sandbox
    pub async fn snapshot_list(&self, id: &str) -> Result<SnapshotList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/snapshots", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Restore a sandbox to a snapshot
    pub async fn snapshot_restore(&self, id: &str, snapshot_id: &str) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/snapshots/restore", segment("id", id)?));
        let mut body = serde_json::Map::new();
        body.insert("snapshotId".into(), serde_json::to_value(snapshot_id)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Start a new sandbox from a snapshot
    pub async fn snapshot_clone(&self, snapshot_id: &str, options: SnapshotCloneOptions) -> Result<SandboxInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/snapshots/{}/clone", segment("snapshotId", snapshot_id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Delete a snapshot
    pub async fn snapshot_delete(&self, snapshot_id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/snapshots/{}", segment("snapshotId", snapshot_id)?));
        self.http().json(call).await
    }

    /// Take a snapshot (the path of older clients)
    pub async fn snapshot_create_short(&self, id: &str, options: SnapshotCreateShortOptions) -> Result<SnapshotInfo> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/snapshot", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Resource use of one sandbox
    pub async fn metrics_sandbox(&self, id: &str) -> Result<SandboxMetrics> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/metrics", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Counters of the server
    pub async fn metrics_global(&self) -> Result<GlobalMetrics> {
        let mut call = Call::new(Method::GET, "/sandbox/metrics");
        call.safe = true;
        self.http().json(call).await
    }

    /// Whether the server answers
    pub async fn health(&self) -> Result<Health> {
        let mut call = Call::new(Method::GET, "/sandbox/health");
        call.safe = true;
        self.http().json(call).await
    }

    /// State of the warm pool
    pub async fn pool_status(&self) -> Result<PoolStatus> {
        let mut call = Call::new(Method::GET, "/sandbox/pool/status");
        call.safe = true;
        self.http().json(call).await
    }

    /// Remove expired sandboxes now
    pub async fn ttl_sweep(&self) -> Result<Swept> {
        let call = Call::new(Method::POST, "/sandbox/admin/sweep");
        self.http().json(call).await
    }

    /// This API as an OpenAPI 3.1 document
    pub async fn openapi(&self) -> Result<OpenApi> {
        let mut call = Call::new(Method::GET, "/sandbox/openapi.json");
        call.safe = true;
        self.http().json(call).await
    }

    /// Run source code
    pub async fn interp_execute(&self, id: &str, code: &str, options: InterpExecuteOptions) -> Result<CodeResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/execute", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("code".into(), serde_json::to_value(code)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Install packages
    pub async fn interp_install(&self, id: &str, packages: &[String], options: InterpInstallOptions) -> Result<InstallResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/install", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("packages".into(), serde_json::to_value(packages)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// List the languages
    pub async fn interp_kernels(&self, id: &str) -> Result<KernelList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/interpret/kernels", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Start a context: an interpreter whose variables live between calls
    pub async fn context_create(&self, id: &str, options: ContextCreateOptions) -> Result<Context> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/contexts", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// List the contexts of a sandbox
    pub async fn context_list(&self, id: &str) -> Result<ContextList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/interpret/contexts", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// One context
    pub async fn context_get(&self, id: &str, context_id: &str) -> Result<Context> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/interpret/contexts/{}", segment("id", id)?, segment("contextId", context_id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete a context
    pub async fn context_delete(&self, id: &str, context_id: &str) -> Result<ContextDeleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/sandboxes/{}/interpret/contexts/{}", segment("id", id)?, segment("contextId", context_id)?));
        self.http().json(call).await
    }

    /// Run source code in a context
    pub async fn context_execute(&self, id: &str, context_id: &str, code: &str, options: ContextExecuteOptions) -> Result<ContextResult> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/contexts/{}/execute", segment("id", id)?, segment("contextId", context_id)?));
        let mut body = object(&options)?;
        body.insert("code".into(), serde_json::to_value(code)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Run source code in a context and stream its output and results
    pub async fn context_execute_stream(&self, id: &str, context_id: &str, code: &str, options: ContextExecuteStreamOptions) -> Result<EventStream<ContextEvent>> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/contexts/{}/execute/stream", segment("id", id)?, segment("contextId", context_id)?));
        let mut body = object(&options)?;
        body.insert("code".into(), serde_json::to_value(code)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().events(call).await
    }

    /// Interrupt the code that a context runs; its variables stay
    pub async fn context_interrupt(&self, id: &str, context_id: &str) -> Result<ContextInterrupted> {
        let call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/contexts/{}/interrupt", segment("id", id)?, segment("contextId", context_id)?));
        self.http().json(call).await
    }

    /// Restart a context: same id, no variables
    pub async fn context_restart(&self, id: &str, context_id: &str) -> Result<Context> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/interpret/contexts/{}/restart", segment("id", id)?, segment("contextId", context_id)?));
        call.long = true;
        self.http().json(call).await
    }

    /// Expose a port
    pub async fn port_expose(&self, id: &str, container_port: i64, options: PortExposeOptions) -> Result<PortMapping> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/ports", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("containerPort".into(), serde_json::to_value(container_port)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List exposed ports, and those that listen inside
    pub async fn port_list(&self, id: &str) -> Result<PortList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/ports", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Stop exposing a port, for every protocol
    pub async fn port_unexpose(&self, id: &str, container_port: i64) -> Result<PortRemoved> {
        let mut call = Call::new(Method::DELETE, format!("/sandbox/sandboxes/{}/ports", segment("id", id)?));
        call.ask("containerPort", Some(&container_port))?;
        self.http().json(call).await
    }

    /// Get the preview address of a port, and a signed link to it
    pub async fn preview_open(&self, id: &str, port: i64, options: PreviewOpenOptions) -> Result<Preview> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/preview", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("port".into(), serde_json::to_value(port)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Send an HTTP request to an exposed port
    pub async fn proxy_request(&self, id: &str, port: i64, options: ProxyRequestOptions) -> Result<ProxyReply> {
        let mut call = Call::new(Method::POST, format!("/sandbox/proxy/{}/{}", segment("id", id)?, port));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Change the given proxy settings and return all of them
    pub async fn proxy_config(&self, id: &str, options: ProxyConfigOptions) -> Result<ProxyConfig> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/proxy/config", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Open a terminal
    pub async fn terminal_create(&self, id: &str, options: TerminalCreateOptions) -> Result<TerminalSession> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/terminal", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }

    /// Change the size of a terminal
    pub async fn terminal_resize(&self, id: &str, session_id: &str, cols: i64, rows: i64) -> Result<TerminalSize> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/terminal/{}/resize", segment("id", id)?, segment("sessionId", session_id)?));
        let mut body = serde_json::Map::new();
        body.insert("cols".into(), serde_json::to_value(cols)?);
        body.insert("rows".into(), serde_json::to_value(rows)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Close a terminal and terminate its shell
    pub async fn terminal_close(&self, id: &str, session_id: &str) -> Result<TerminalClosed> {
        let call = Call::new(Method::DELETE, format!("/sandbox/sandboxes/{}/terminal/{}", segment("id", id)?, segment("sessionId", session_id)?));
        self.http().json(call).await
    }

    /// Create a token; only this response has its secret
    pub async fn token_create(&self, name: &str, options: TokenCreateOptions) -> Result<Token> {
        let mut call = Call::new(Method::POST, "/sandbox/tokens");
        let mut body = object(&options)?;
        body.insert("name".into(), serde_json::to_value(name)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List tokens
    pub async fn token_list(&self) -> Result<TokenList> {
        let mut call = Call::new(Method::GET, "/sandbox/tokens");
        call.safe = true;
        self.http().json(call).await
    }

    /// One token with its quota and its tenant's usage
    pub async fn token_get(&self, token_id: &str) -> Result<Token> {
        let mut call = Call::new(Method::GET, format!("/sandbox/tokens/{}", segment("tokenId", token_id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Revoke a token at once and close its open streams
    pub async fn token_revoke(&self, token_id: &str) -> Result<Token> {
        let call = Call::new(Method::DELETE, format!("/sandbox/tokens/{}", segment("tokenId", token_id)?));
        self.http().json(call).await
    }

    /// Give a token a new secret; the old one is revoked
    pub async fn token_rotate(&self, token_id: &str) -> Result<Token> {
        let call = Call::new(Method::POST, format!("/sandbox/tokens/{}/rotate", segment("tokenId", token_id)?));
        self.http().json(call).await
    }

    /// Let a public key log in by SSH, with the rights of the calling token
    pub async fn ssh_key_add(&self, public_key: &str, options: SshKeyAddOptions) -> Result<SshKey> {
        let mut call = Call::new(Method::POST, "/sandbox/ssh/keys");
        let mut body = object(&options)?;
        body.insert("publicKey".into(), serde_json::to_value(public_key)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List SSH keys
    pub async fn ssh_key_list(&self) -> Result<SshKeyList> {
        let mut call = Call::new(Method::GET, "/sandbox/ssh/keys");
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete an SSH key and end the connections that it opened
    pub async fn ssh_key_delete(&self, key_id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/ssh/keys/{}", segment("keyId", key_id)?));
        self.http().json(call).await
    }

    /// Where the server listens for SSH, if it does
    pub async fn ssh_info(&self) -> Result<SshInfo> {
        let mut call = Call::new(Method::GET, "/sandbox/ssh");
        call.safe = true;
        self.http().json(call).await
    }

    /// Past events, newest first
    pub async fn event_history(&self, options: EventHistoryOptions) -> Result<EventPage> {
        let mut call = Call::new(Method::GET, "/sandbox/events/history");
        call.ask("sandboxId", options.sandbox_id.as_ref())?;
        call.ask("topic", options.topic.as_ref())?;
        call.ask("limit", options.limit.as_ref())?;
        call.ask("offset", options.offset.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Publish an event
    pub async fn event_publish(&self, topic: &str, sandbox_id: &str, options: EventPublishOptions) -> Result<SandboxEvent> {
        let mut call = Call::new(Method::POST, "/sandbox/events/publish");
        let mut body = object(&options)?;
        body.insert("topic".into(), serde_json::to_value(topic)?);
        body.insert("sandboxId".into(), serde_json::to_value(sandbox_id)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Traces, newest first
    pub async fn observability_traces(&self, options: ObservabilityTracesOptions) -> Result<TracePage> {
        let mut call = Call::new(Method::GET, "/sandbox/observability/traces");
        call.ask("sandboxId", options.sandbox_id.as_ref())?;
        call.ask("functionId", options.function_id.as_ref())?;
        call.ask("limit", options.limit.as_ref())?;
        call.ask("offset", options.offset.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Counts and durations over all traces
    pub async fn observability_metrics(&self) -> Result<ObservabilityMetrics> {
        let mut call = Call::new(Method::GET, "/sandbox/observability/metrics");
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete traces older than a time
    pub async fn observability_clear(&self, options: ObservabilityClearOptions) -> Result<Cleared> {
        let mut call = Call::new(Method::POST, "/sandbox/observability/clear");
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Output of the sandbox's main process, line by line
    pub async fn stream_logs(&self, id: &str, options: StreamLogsOptions) -> Result<EventStream<LogEvent>> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/stream/logs", segment("id", id)?));
        call.ask("tail", options.tail.as_ref())?;
        call.ask("follow", options.follow.as_ref())?;
        call.safe = true;
        self.http().events(call).await
    }

    /// Resource use at an interval
    pub async fn stream_metrics(&self, id: &str, options: StreamMetricsOptions) -> Result<EventStream<SandboxMetrics>> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/stream/metrics", segment("id", id)?));
        call.ask("interval", options.interval.as_ref())?;
        call.safe = true;
        self.http().events(call).await
    }

    /// Events as they occur
    pub async fn stream_events(&self, options: StreamEventsOptions) -> Result<EventStream<SandboxEvent>> {
        let mut call = Call::new(Method::GET, "/sandbox/stream/events");
        call.ask("topic", options.topic.as_ref())?;
        call.ask("ids", options.ids.as_ref())?;
        call.safe = true;
        self.http().events(call).await
    }

    /// Set an alert
    pub async fn alert_set(&self, id: &str, metric: &str, threshold: f64, options: AlertSetOptions) -> Result<ResourceAlert> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/alerts", segment("id", id)?));
        let mut body = object(&options)?;
        body.insert("metric".into(), serde_json::to_value(metric)?);
        body.insert("threshold".into(), serde_json::to_value(threshold)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List alerts
    pub async fn alert_list(&self, id: &str) -> Result<AlertList> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/alerts", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete an alert
    pub async fn alert_delete(&self, alert_id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/alerts/{}", segment("alertId", alert_id)?));
        self.http().json(call).await
    }

    /// Alerts that fired, newest first
    pub async fn alert_history(&self, id: &str, options: AlertHistoryOptions) -> Result<AlertEventPage> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/alerts/history", segment("id", id)?));
        call.ask("limit", options.limit.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Send events to a URL; only this response and that of a rotation have the secret
    pub async fn webhook_create(&self, url: &str, options: WebhookCreateOptions) -> Result<Webhook> {
        let mut call = Call::new(Method::POST, "/sandbox/webhooks");
        let mut body = object(&options)?;
        body.insert("url".into(), serde_json::to_value(url)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List webhooks
    pub async fn webhook_list(&self, options: WebhookListOptions) -> Result<WebhookList> {
        let mut call = Call::new(Method::GET, "/sandbox/webhooks");
        call.ask("sandboxId", options.sandbox_id.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Get one webhook
    pub async fn webhook_get(&self, webhook_id: &str) -> Result<Webhook> {
        let mut call = Call::new(Method::GET, format!("/sandbox/webhooks/{}", segment("webhookId", webhook_id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Change the given settings of a webhook; enabled: true ends a disablement
    pub async fn webhook_update(&self, webhook_id: &str, options: WebhookUpdateOptions) -> Result<Webhook> {
        let mut call = Call::new(Method::PUT, format!("/sandbox/webhooks/{}", segment("webhookId", webhook_id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Delete a webhook with all messages that wait
    pub async fn webhook_delete(&self, webhook_id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/webhooks/{}", segment("webhookId", webhook_id)?));
        self.http().json(call).await
    }

    /// Send one message webhook.test now, without retries, and report the outcome
    pub async fn webhook_test(&self, webhook_id: &str) -> Result<WebhookTest> {
        let mut call = Call::new(Method::POST, format!("/sandbox/webhooks/{}/test", segment("webhookId", webhook_id)?));
        call.long = true;
        self.http().json(call).await
    }

    /// Give a webhook a new secret; messages are signed with both until the overlap ends
    pub async fn webhook_rotate(&self, webhook_id: &str, options: WebhookRotateOptions) -> Result<Webhook> {
        let mut call = Call::new(Method::POST, format!("/sandbox/webhooks/{}/rotate", segment("webhookId", webhook_id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Messages of a webhook that wait, and dead letters; delivered ones are not kept
    pub async fn webhook_deliveries(&self, webhook_id: &str, options: WebhookDeliveriesOptions) -> Result<WebhookDeliveryPage> {
        let mut call = Call::new(Method::GET, format!("/sandbox/webhooks/{}/deliveries", segment("webhookId", webhook_id)?));
        call.ask("status", options.status.as_ref())?;
        call.ask("limit", options.limit.as_ref())?;
        call.ask("offset", options.offset.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Remove the dead letters of a webhook, or also what waits
    pub async fn webhook_purge(&self, webhook_id: &str, options: WebhookPurgeOptions) -> Result<WebhookPurged> {
        let mut call = Call::new(Method::DELETE, format!("/sandbox/webhooks/{}/deliveries", segment("webhookId", webhook_id)?));
        call.ask("status", options.status.as_ref())?;
        self.http().json(call).await
    }

    /// Send a dead letter again, or all of them
    pub async fn webhook_retry(&self, webhook_id: &str, options: WebhookRetryOptions) -> Result<WebhookRetried> {
        let mut call = Call::new(Method::POST, format!("/sandbox/webhooks/{}/retry", segment("webhookId", webhook_id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// What the sandbox may connect to
    pub async fn egress_get(&self, id: &str) -> Result<EgressPolicy> {
        let mut call = Call::new(Method::GET, format!("/sandbox/sandboxes/{}/egress", segment("id", id)?));
        call.safe = true;
        self.http().json(call).await
    }

    /// Change what the sandbox may connect to; open connections that the new policy denies are closed
    pub async fn egress_set(&self, id: &str, options: EgressSetOptions) -> Result<EgressPolicy> {
        let mut call = Call::new(Method::POST, format!("/sandbox/sandboxes/{}/egress", segment("id", id)?));
        let body = object(&options)?;
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Create a network
    pub async fn network_create(&self, name: &str, options: NetworkCreateOptions) -> Result<SandboxNetwork> {
        let mut call = Call::new(Method::POST, "/sandbox/networks");
        let mut body = object(&options)?;
        body.insert("name".into(), serde_json::to_value(name)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List networks
    pub async fn network_list(&self) -> Result<NetworkList> {
        let mut call = Call::new(Method::GET, "/sandbox/networks");
        call.safe = true;
        self.http().json(call).await
    }

    /// Connect a sandbox
    pub async fn network_connect(&self, network_id: &str, sandbox_id: &str) -> Result<NetworkConnected> {
        let mut call = Call::new(Method::POST, format!("/sandbox/networks/{}/connect", segment("networkId", network_id)?));
        let mut body = serde_json::Map::new();
        body.insert("sandboxId".into(), serde_json::to_value(sandbox_id)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Disconnect a sandbox
    pub async fn network_disconnect(&self, network_id: &str, sandbox_id: &str) -> Result<NetworkDisconnected> {
        let mut call = Call::new(Method::POST, format!("/sandbox/networks/{}/disconnect", segment("networkId", network_id)?));
        let mut body = serde_json::Map::new();
        body.insert("sandboxId".into(), serde_json::to_value(sandbox_id)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Disconnect all members and delete the network
    pub async fn network_delete(&self, network_id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/networks/{}", segment("networkId", network_id)?));
        self.http().json(call).await
    }

    /// Create a volume
    pub async fn volume_create(&self, name: &str, options: VolumeCreateOptions) -> Result<SandboxVolume> {
        let mut call = Call::new(Method::POST, "/sandbox/volumes");
        let mut body = object(&options)?;
        body.insert("name".into(), serde_json::to_value(name)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// List volumes
    pub async fn volume_list(&self) -> Result<VolumeList> {
        let mut call = Call::new(Method::GET, "/sandbox/volumes");
        call.safe = true;
        self.http().json(call).await
    }

    /// Delete a volume
    pub async fn volume_delete(&self, volume_id: &str) -> Result<Deleted> {
        let call = Call::new(Method::DELETE, format!("/sandbox/volumes/{}", segment("volumeId", volume_id)?));
        self.http().json(call).await
    }

    /// Mount a volume in a sandbox
    pub async fn volume_attach(&self, volume_id: &str, sandbox_id: &str, mount_path: &str, options: VolumeAttachOptions) -> Result<VolumeAttached> {
        let mut call = Call::new(Method::POST, format!("/sandbox/volumes/{}/attach", segment("volumeId", volume_id)?));
        let mut body = object(&options)?;
        body.insert("sandboxId".into(), serde_json::to_value(sandbox_id)?);
        body.insert("mountPath".into(), serde_json::to_value(mount_path)?);
        call.body = Some(serde_json::to_string(&body)?);
        self.http().json(call).await
    }

    /// Unmount a volume
    pub async fn volume_detach(&self, volume_id: &str) -> Result<VolumeDetached> {
        let call = Call::new(Method::POST, format!("/sandbox/volumes/{}/detach", segment("volumeId", volume_id)?));
        self.http().json(call).await
    }

    /// List workers
    pub async fn worker_list(&self) -> Result<WorkerList> {
        let mut call = Call::new(Method::GET, "/sandbox/admin/workers");
        call.safe = true;
        self.http().json(call).await
    }

    /// The worker with the most free capacity
    pub async fn worker_select(&self) -> Result<WorkerSelected> {
        let mut call = Call::new(Method::GET, "/sandbox/admin/workers/select");
        call.safe = true;
        self.http().json(call).await
    }

    /// Take over sandboxes of dead workers
    pub async fn worker_reap(&self) -> Result<WorkersReaped> {
        let call = Call::new(Method::POST, "/sandbox/admin/workers/reap");
        self.http().json(call).await
    }

    /// Take ownership of local sandboxes that have no owner
    pub async fn worker_migrate(&self) -> Result<WorkersMigrated> {
        let call = Call::new(Method::POST, "/sandbox/admin/workers/migrate");
        self.http().json(call).await
    }

    /// Write this worker's heartbeat now
    pub async fn worker_heartbeat(&self) -> Result<WorkerInfo> {
        let call = Call::new(Method::POST, "/sandbox/admin/workers/heartbeat");
        self.http().json(call).await
    }

    /// Lines of the audit log, newest first
    pub async fn audit_list(&self, options: AuditListOptions) -> Result<AuditPage> {
        let mut call = Call::new(Method::GET, "/sandbox/admin/audit");
        call.ask("operation", options.operation.as_ref())?;
        call.ask("by", options.by.as_ref())?;
        call.ask("tenant", options.tenant.as_ref())?;
        call.ask("status", options.status.as_ref())?;
        call.ask("since", options.since.as_ref())?;
        call.ask("before", options.before.as_ref())?;
        call.ask("limit", options.limit.as_ref())?;
        call.safe = true;
        self.http().json(call).await
    }

    /// Check that no line of the audit log was changed, removed or inserted
    pub async fn audit_verify(&self) -> Result<AuditVerdict> {
        let mut call = Call::new(Method::GET, "/sandbox/admin/audit/verify");
        call.safe = true;
        self.http().json(call).await
    }

    /// Call a function of the engine: one of a worker, of the engine, or of this server
    pub async fn function_call(&self, function_id: &str, options: FunctionCallOptions) -> Result<FunctionResult> {
        let mut call = Call::new(Method::POST, "/sandbox/admin/functions/call");
        let mut body = object(&options)?;
        body.insert("functionId".into(), serde_json::to_value(function_id)?);
        call.body = Some(serde_json::to_string(&body)?);
        call.long = true;
        self.http().json(call).await
    }
}
