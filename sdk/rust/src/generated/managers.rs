//! Generated from docs/openapi.json by tools/sdkgen; do not edit.

use std::collections::BTreeMap;

use super::types::*;
use crate::error::{succeeded, Result};
use crate::files::FileSystem;
use crate::managers::*;
use crate::sandbox::Sandbox;
use crate::server::*;
use crate::sse::EventStream;
use crate::terminal::TerminalManager;
use crate::value::Command;

impl Sandbox {
    /// End the processes of a sandbox; its files and settings are kept
    pub async fn stop(&mut self, timeout: Option<i64>) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_stop(self.id(), SandboxStopOptions { timeout }).await?;
        Ok(self.info.clone())
    }

    /// Start a stopped or hibernated sandbox again, or resume a paused one
    pub async fn start(&mut self) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_start(self.id()).await?;
        Ok(self.info.clone())
    }

    /// Stop a sandbox and start it again with its files
    pub async fn restart(&mut self, timeout: Option<i64>) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_restart(self.id(), SandboxRestartOptions { timeout }).await?;
        Ok(self.info.clone())
    }

    /// Save memory and files of a sandbox to disk and end it; a start continues its processes
    pub async fn hibernate(&mut self) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_hibernate(self.id()).await?;
        Ok(self.info.clone())
    }

    /// Change what a sandbox does when it expires, when it is idle and when it is called asleep
    pub async fn set_policy(&mut self, options: SandboxPolicyOptions) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_policy(self.id(), options).await?;
        Ok(self.info.clone())
    }

    /// Change the limits of a sandbox while it runs; its disk only grows
    pub async fn resize(&mut self, options: SandboxResizeOptions) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_resize(self.id(), options).await?;
        Ok(self.info.clone())
    }

    /// Change the metadata of a sandbox: keys are removed, then pairs are set
    pub async fn label(&mut self, options: SandboxLabelOptions) -> Result<SandboxInfo> {
        self.info = self.api().sandbox_label(self.id(), options).await?;
        Ok(self.info.clone())
    }

    /// Start a new sandbox with the files and configuration of this one
    pub async fn clone_sandbox(&self, name: Option<&str>) -> Result<SandboxInfo> {
        self.api().sandbox_clone(self.id(), SandboxCloneOptions { name: name.map(Into::into), ..Default::default() }).await
    }

    /// Send SIGINT to one process, or to every running command
    pub async fn interrupt(&self, pid: Option<i64>) -> Result<Success> {
        self.api().cmd_interrupt(self.id(), CmdInterruptOptions { pid }).await
    }

    /// Take a snapshot
    pub async fn snapshot(&self, name: Option<&str>) -> Result<SnapshotInfo> {
        self.api().snapshot_create(self.id(), SnapshotCreateOptions { name: name.map(Into::into) }).await
    }

    /// List the snapshots of a sandbox
    pub async fn list_snapshots(&self) -> Result<SnapshotList> {
        self.api().snapshot_list(self.id()).await
    }

    /// Restore a sandbox to a snapshot
    pub async fn restore(&self, snapshot_id: &str) -> Result<SandboxInfo> {
        self.api().snapshot_restore(self.id(), snapshot_id).await
    }

    /// Resource use of one sandbox
    pub async fn metrics(&self) -> Result<SandboxMetrics> {
        self.api().metrics_sandbox(self.id()).await
    }
}

impl ContextManager {
    /// Start a context: an interpreter whose variables live between calls
    pub async fn create(&self, options: ContextCreateOptions) -> Result<Context> {
        self.api.context_create(&self.id, options).await
    }

    /// List the contexts of a sandbox
    pub async fn list(&self) -> Result<Vec<Context>> {
        Ok(self.api.context_list(&self.id).await?.contexts)
    }

    /// One context
    pub async fn get(&self, context_id: &str) -> Result<Context> {
        self.api.context_get(&self.id, context_id).await
    }

    /// Delete a context
    pub async fn delete(&self, context_id: &str) -> Result<ContextDeleted> {
        self.api.context_delete(&self.id, context_id).await
    }

    /// Run source code in a context
    pub async fn execute(&self, context_id: &str, code: &str, options: ContextExecuteOptions) -> Result<ContextResult> {
        self.api.context_execute(&self.id, context_id, code, options).await
    }

    /// Run source code in a context and stream its output and results
    pub async fn execute_stream(&self, context_id: &str, code: &str, options: ContextExecuteStreamOptions) -> Result<EventStream<ContextEvent>> {
        self.api.context_execute_stream(&self.id, context_id, code, options).await
    }

    /// Interrupt the code that a context runs; its variables stay
    pub async fn interrupt(&self, context_id: &str) -> Result<ContextInterrupted> {
        self.api.context_interrupt(&self.id, context_id).await
    }

    /// Restart a context: same id, no variables
    pub async fn restart(&self, context_id: &str) -> Result<Context> {
        self.api.context_restart(&self.id, context_id).await
    }
}

impl JobManager {
    /// Start a durable command, which outlives the connection
    pub async fn start(&self, command: impl Into<Command>, options: ExecStartOptions) -> Result<DurableExec> {
        self.api.exec_start(&self.id, command, options).await
    }

    /// Durable commands of a sandbox, including those that have exited
    pub async fn list(&self) -> Result<Vec<DurableExec>> {
        Ok(self.api.exec_list(&self.id).await?.execs)
    }

    /// State of a durable command
    pub async fn get(&self, exec_id: &str) -> Result<DurableExec> {
        self.api.exec_get(exec_id).await
    }

    /// Output of a durable command from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn output(&self, exec_id: &str, options: ExecOutputOptions) -> Result<ExecOutput> {
        self.api.exec_output(exec_id, options).await
    }

    /// Write to the standard input of a durable command, or close it
    pub async fn input(&self, exec_id: &str, options: ExecInputOptions) -> Result<ExecWritten> {
        self.api.exec_input(exec_id, options).await
    }

    /// Send a signal to the process group of a durable command
    pub async fn signal(&self, exec_id: &str, signal: Option<&str>) -> Result<ExecSignalled> {
        self.api.exec_signal(exec_id, ExecSignalOptions { signal: signal.map(Into::into) }).await
    }
}

impl EgressManager {
    /// What the sandbox may connect to
    pub async fn get(&self) -> Result<EgressPolicy> {
        self.api.egress_get(&self.id).await
    }

    /// Change what the sandbox may connect to; open connections that the new policy denies are closed
    pub async fn set(&self, options: EgressSetOptions) -> Result<EgressPolicy> {
        self.api.egress_set(&self.id, options).await
    }
}

impl EnvManager {
    /// Get one variable
    pub async fn get(&self, key: &str) -> Result<EnvValue> {
        self.api.env_get(&self.id, key).await
    }

    /// List the effective environment
    pub async fn list(&self) -> Result<EnvList> {
        self.api.env_list(&self.id).await
    }

    /// Delete a variable; a missing one is not an error
    pub async fn delete(&self, key: &str) -> Result<EnvDeleted> {
        self.api.env_delete(&self.id, key).await
    }
}

impl FileSystem {
    /// Read a text file
    pub async fn read(&self, path: &str) -> Result<Text> {
        self.api.fs_read(&self.id, path).await
    }

    /// Write a text file; missing parent folders are created
    pub async fn write(&self, path: &str, content: &str) -> Result<Success> {
        self.api.fs_write(&self.id, path, content).await
    }

    /// Delete a file; a missing one is not an error
    pub async fn delete(&self, path: &str) -> Result<Success> {
        self.api.fs_delete(&self.id, path).await
    }

    /// List a folder; a missing one is empty
    pub async fn list(&self, path: Option<&str>) -> Result<FileInfoList> {
        self.api.fs_list(&self.id, FsListOptions { path: path.map(Into::into), ..Default::default() }).await
    }

    /// Find regular files by a glob on their name
    pub async fn search(&self, pattern: &str, dir: Option<&str>) -> Result<PathList> {
        self.api.fs_search(&self.id, pattern, FsSearchOptions { dir: dir.map(Into::into) }).await
    }

    /// Write a file from base64
    pub async fn upload(&self, path: &str, content: &str) -> Result<Success> {
        self.api.fs_upload(&self.id, path, content).await
    }

    /// Read a file as base64
    pub async fn download(&self, path: &str) -> Result<Base64> {
        self.api.fs_download(&self.id, path).await
    }

    /// Move files in order, up to the first failure
    pub async fn move_all(&self, moves: &[FsMoveMove]) -> Result<Success> {
        self.api.fs_move(&self.id, moves).await
    }

    /// Change the mode of a file
    pub async fn chmod(&self, path: &str, mode: &str) -> Result<Success> {
        self.api.fs_chmod(&self.id, path, mode).await
    }

    /// Changes of the files below a folder, as they occur; the first event is ready
    pub async fn watch(&self, options: FsWatchOptions) -> Result<EventStream<FileEvent>> {
        self.api.fs_watch(&self.id, options).await
    }

    /// Get a URL that downloads or uploads one file without a token, until it expires
    pub async fn sign(&self, path: &str, options: FsSignOptions) -> Result<FileUrl> {
        self.api.fs_sign(&self.id, path, options).await
    }

    /// Get a URL that downloads or uploads one file without a token, until it expires
    pub async fn download_url(&self, path: &str, options: FsSignOptions) -> Result<String> {
        Ok(self.api.fs_sign(&self.id, path, FsSignOptions { method: Some("get".to_owned()), ..options }).await?.url)
    }

    /// Get a URL that downloads or uploads one file without a token, until it expires
    pub async fn upload_url(&self, path: &str, options: FsSignOptions) -> Result<String> {
        Ok(self.api.fs_sign(&self.id, path, FsSignOptions { method: Some("put".to_owned()), ..options }).await?.url)
    }
}

impl GitManager {
    /// Clone a repository
    pub async fn clone_repo(&self, url: &str, options: GitCloneOptions) -> Result<ExecResult> {
        succeeded("git clone", self.api.git_clone(&self.id, url, options).await?)
    }

    /// Branch and changed files
    pub async fn status(&self, path: Option<&str>) -> Result<GitStatus> {
        self.api.git_status(&self.id, GitStatusOptions { path: path.map(Into::into) }).await
    }

    /// Commit; with all, stage everything first
    pub async fn commit(&self, message: &str, options: GitCommitOptions) -> Result<ExecResult> {
        self.api.git_commit(&self.id, message, options).await
    }

    /// Changes of the working tree, or staged changes
    pub async fn diff(&self, options: GitDiffOptions) -> Result<GitDiff> {
        self.api.git_diff(&self.id, options).await
    }

    /// Commits, newest first
    pub async fn log(&self, options: GitLogOptions) -> Result<GitLog> {
        self.api.git_log(&self.id, options).await
    }

    /// List branches; with a name, create or delete that branch first
    pub async fn branch(&self, options: GitBranchOptions) -> Result<GitBranches> {
        self.api.git_branch(&self.id, options).await
    }

    /// Check out a branch, tag or commit
    pub async fn checkout(&self, r#ref: &str, path: Option<&str>) -> Result<ExecResult> {
        self.api.git_checkout(&self.id, r#ref, GitCheckoutOptions { path: path.map(Into::into) }).await
    }

    /// Push to a remote
    pub async fn push(&self, options: GitPushOptions) -> Result<ExecResult> {
        self.api.git_push(&self.id, options).await
    }

    /// Pull from a remote
    pub async fn pull(&self, options: GitPullOptions) -> Result<ExecResult> {
        self.api.git_pull(&self.id, options).await
    }
}

impl CodeInterpreter {
    /// Run source code
    pub async fn run(&self, code: &str, language: Option<&str>) -> Result<CodeResult> {
        self.api.interp_execute(&self.id, code, InterpExecuteOptions { language: language.map(Into::into) }).await
    }

    /// List the languages
    pub async fn kernels(&self) -> Result<KernelList> {
        self.api.interp_kernels(&self.id).await
    }
}

impl MonitorManager {
    /// Set an alert
    pub async fn set_alert(&self, metric: &str, threshold: f64, action: Option<&str>) -> Result<ResourceAlert> {
        self.api.alert_set(&self.id, metric, threshold, AlertSetOptions { action: action.map(Into::into) }).await
    }

    /// List alerts
    pub async fn list_alerts(&self) -> Result<AlertList> {
        self.api.alert_list(&self.id).await
    }

    /// Delete an alert
    pub async fn delete_alert(&self, alert_id: &str) -> Result<Deleted> {
        self.api.alert_delete(alert_id).await
    }

    /// Alerts that fired, newest first
    pub async fn history(&self, limit: Option<i64>) -> Result<AlertEventPage> {
        self.api.alert_history(&self.id, AlertHistoryOptions { limit }).await
    }
}

impl PortManager {
    /// Expose a port
    pub async fn expose(&self, container_port: i64, host_port: Option<i64>, protocol: Option<&str>) -> Result<PortMapping> {
        self.api.port_expose(&self.id, container_port, PortExposeOptions { host_port, protocol: protocol.map(Into::into) }).await
    }

    /// List exposed ports, and those that listen inside
    pub async fn list(&self) -> Result<PortList> {
        self.api.port_list(&self.id).await
    }

    /// Stop exposing a port, for every protocol
    pub async fn unexpose(&self, container_port: i64) -> Result<PortRemoved> {
        self.api.port_unexpose(&self.id, container_port).await
    }

    /// Get the preview address of a port, and a signed link to it
    pub async fn preview(&self, port: i64, options: PreviewOpenOptions) -> Result<Preview> {
        self.api.preview_open(&self.id, port, options).await
    }
}

impl ProcessManager {
    /// List processes
    pub async fn list(&self) -> Result<ProcessList> {
        self.api.proc_list(&self.id).await
    }

    /// List processes with their use of CPU and memory
    pub async fn top(&self) -> Result<ProcessTop> {
        self.api.proc_top(&self.id).await
    }

    /// Send a signal to a process
    pub async fn kill(&self, pid: i64, signal: Option<&str>) -> Result<ProcessKilled> {
        self.api.proc_kill(&self.id, pid, ProcKillOptions { signal: signal.map(Into::into) }).await
    }
}

impl PortManager {
    /// Send an HTTP request to an exposed port
    pub async fn request(&self, port: i64, options: ProxyRequestOptions) -> Result<ProxyReply> {
        self.api.proxy_request(&self.id, port, options).await
    }

    /// Change the given proxy settings and return all of them
    pub async fn configure(&self, options: ProxyConfigOptions) -> Result<ProxyConfig> {
        self.api.proxy_config(&self.id, options).await
    }
}

impl QueueManager {
    /// Queue a command
    pub async fn submit(&self, command: impl Into<Command>, options: QueueSubmitOptions) -> Result<QueueJobInfo> {
        self.api.queue_submit(&self.id, command, options).await
    }

    /// Queued commands of a sandbox, oldest first, with those that have finished
    pub async fn list(&self, status: Option<&str>, limit: Option<i64>, offset: Option<i64>) -> Result<QueueJobPage> {
        self.api.queue_list(&self.id, QueueListOptions { status: status.map(Into::into), limit, offset }).await
    }

    /// State of a queued command
    pub async fn status(&self, job_id: &str) -> Result<QueueJobInfo> {
        self.api.queue_status(job_id).await
    }

    /// Cancel a waiting command, or terminate a running one
    pub async fn cancel(&self, job_id: &str) -> Result<QueueCancelled> {
        self.api.queue_cancel(job_id).await
    }

    /// Retry a command that finally failed
    pub async fn retry(&self, job_id: &str) -> Result<QueueJobInfo> {
        self.api.queue_retry(job_id).await
    }
}

impl ServiceManager {
    /// Services of a sandbox and their states
    pub async fn list(&self, options: ServiceListOptions) -> Result<Vec<Service>> {
        Ok(self.api.service_list(&self.id, options).await?.services)
    }

    /// Start a service that does not run
    pub async fn start(&self, name: &str) -> Result<Service> {
        self.api.service_start(&self.id, name).await
    }

    /// Stop a service; a request starts it, or the next start of its sandbox
    pub async fn stop(&self, name: &str) -> Result<Service> {
        self.api.service_stop(&self.id, name).await
    }

    /// Stop a service and start it again, with the environment that the sandbox has now
    pub async fn restart(&self, name: &str) -> Result<Service> {
        self.api.service_restart(&self.id, name).await
    }

    /// Output of a service from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn logs(&self, name: &str, options: ServiceLogsOptions) -> Result<ServiceOutput> {
        self.api.service_logs(&self.id, name, options).await
    }

    /// Output of a service from a byte offset; as server-sent events with follow or Accept: text/event-stream
    pub async fn follow(&self, name: &str, options: ServiceLogsOptions) -> Result<EventStream<ServiceOutputEvent>> {
        self.api.service_logs_events(&self.id, name, ServiceLogsOptions { follow: Some(true), ..options }).await
    }
}

impl StreamManager {
    /// Output of the sandbox's main process, line by line
    pub async fn logs(&self, options: StreamLogsOptions) -> Result<EventStream<LogEvent>> {
        self.api.stream_logs(&self.id, options).await
    }

    /// Resource use at an interval
    pub async fn metrics(&self, interval: Option<i64>) -> Result<EventStream<SandboxMetrics>> {
        self.api.stream_metrics(&self.id, StreamMetricsOptions { interval }).await
    }
}

impl TerminalManager {
    /// Open a terminal
    pub async fn create(&self, options: TerminalCreateOptions) -> Result<TerminalSession> {
        self.api.terminal_create(&self.id, options).await
    }

    /// Change the size of a terminal
    pub async fn resize(&self, session_id: &str, cols: i64, rows: i64) -> Result<TerminalSize> {
        self.api.terminal_resize(&self.id, session_id, cols, rows).await
    }

    /// Close a terminal and terminate its shell
    pub async fn close(&self, session_id: &str) -> Result<TerminalClosed> {
        self.api.terminal_close(&self.id, session_id).await
    }
}

impl AdminClient {
    /// Replace the key that signs links: every file URL, preview link and preview cookie made before ends
    pub async fn rotate_link_key(&self) -> Result<Success> {
        self.api.link_rotate().await
    }

    /// Counters of the server
    pub async fn metrics(&self) -> Result<GlobalMetrics> {
        self.api.metrics_global().await
    }

    /// Whether the server answers
    pub async fn health(&self) -> Result<Health> {
        self.api.health().await
    }

    /// State of the warm pool
    pub async fn pool_status(&self) -> Result<PoolStatus> {
        self.api.pool_status().await
    }

    /// Remove expired sandboxes now
    pub async fn sweep(&self) -> Result<Swept> {
        self.api.ttl_sweep().await
    }

    /// This API as an OpenAPI 3.1 document
    pub async fn openapi(&self) -> Result<OpenApi> {
        self.api.openapi().await
    }

    /// Let a public key log in by SSH, with the rights of the calling token
    pub async fn add_ssh_key(&self, public_key: &str, options: SshKeyAddOptions) -> Result<SshKey> {
        self.api.ssh_key_add(public_key, options).await
    }

    /// List SSH keys
    pub async fn list_ssh_keys(&self) -> Result<Vec<SshKey>> {
        Ok(self.api.ssh_key_list().await?.keys)
    }

    /// Delete an SSH key and end the connections that it opened
    pub async fn delete_ssh_key(&self, key_id: &str) -> Result<Deleted> {
        self.api.ssh_key_delete(key_id).await
    }

    /// Where the server listens for SSH, if it does
    pub async fn ssh_info(&self) -> Result<SshInfo> {
        self.api.ssh_info().await
    }

    /// List workers
    pub async fn workers(&self) -> Result<WorkerList> {
        self.api.worker_list().await
    }

    /// The worker with the most free capacity
    pub async fn select_worker(&self) -> Result<WorkerSelected> {
        self.api.worker_select().await
    }

    /// Take over sandboxes of dead workers
    pub async fn reap_workers(&self) -> Result<WorkersReaped> {
        self.api.worker_reap().await
    }

    /// Take ownership of local sandboxes that have no owner
    pub async fn migrate_workers(&self) -> Result<WorkersMigrated> {
        self.api.worker_migrate().await
    }

    /// Write this worker's heartbeat now
    pub async fn heartbeat(&self) -> Result<WorkerInfo> {
        self.api.worker_heartbeat().await
    }

    /// Lines of the audit log, newest first
    pub async fn audit(&self, options: AuditListOptions) -> Result<AuditPage> {
        self.api.audit_list(options).await
    }

    /// Check that no line of the audit log was changed, removed or inserted
    pub async fn verify_audit(&self) -> Result<AuditVerdict> {
        self.api.audit_verify().await
    }

    /// Call a function of the engine: one of a worker, of the engine, or of this server
    pub async fn call_function(&self, function_id: &str, options: FunctionCallOptions) -> Result<FunctionResult> {
        self.api.function_call(function_id, options).await
    }
}

impl EventManager {
    /// Past events, newest first
    pub async fn history(&self, options: EventHistoryOptions) -> Result<EventPage> {
        self.api.event_history(options).await
    }

    /// Publish an event
    pub async fn publish(&self, topic: &str, sandbox_id: &str, data: Option<BTreeMap<String, serde_json::Value>>) -> Result<SandboxEvent> {
        self.api.event_publish(topic, sandbox_id, EventPublishOptions { data }).await
    }

    /// Events as they occur
    pub async fn stream(&self, topic: Option<&str>) -> Result<EventStream<SandboxEvent>> {
        self.api.stream_events(StreamEventsOptions { topic: topic.map(Into::into), ..Default::default() }).await
    }
}

impl ImageManager {
    /// Images in the store, and the presets this host can run
    pub async fn list(&self) -> Result<Vec<Image>> {
        Ok(self.api.image_list().await?.images)
    }

    /// Remove an image named in the query
    pub async fn delete(&self, name: &str) -> Result<Deleted> {
        self.api.image_delete_query(name).await
    }

    /// Pull an image from its registry; with Accept: text/event-stream the progress is streamed
    pub async fn pull(&self, image: &str) -> Result<Image> {
        self.api.image_pull(image).await
    }

    /// Pull an image from its registry; with Accept: text/event-stream the progress is streamed
    pub async fn pull_events(&self, image: &str) -> Result<EventStream<ImageEvent>> {
        self.api.image_pull_events(image).await
    }

    /// Check the stored signature of an image against the policy again; 403 when the policy denies the image
    pub async fn verify(&self, name: &str) -> Result<ImageVerification> {
        self.api.image_verify(name).await
    }

    /// Layers, sizes and configuration of an image in the store
    pub async fn inspect(&self, name: &str) -> Result<ImageDetails> {
        self.api.image_inspect(name).await
    }
}

impl NetworkManager {
    /// Create a network
    pub async fn create(&self, name: &str, driver: Option<&str>) -> Result<SandboxNetwork> {
        self.api.network_create(name, NetworkCreateOptions { driver: driver.map(Into::into) }).await
    }

    /// List networks
    pub async fn list(&self) -> Result<NetworkList> {
        self.api.network_list().await
    }

    /// Connect a sandbox
    pub async fn connect(&self, network_id: &str, sandbox_id: &str) -> Result<NetworkConnected> {
        self.api.network_connect(network_id, sandbox_id).await
    }

    /// Disconnect a sandbox
    pub async fn disconnect(&self, network_id: &str, sandbox_id: &str) -> Result<NetworkDisconnected> {
        self.api.network_disconnect(network_id, sandbox_id).await
    }

    /// Disconnect all members and delete the network
    pub async fn delete(&self, network_id: &str) -> Result<Deleted> {
        self.api.network_delete(network_id).await
    }
}

impl ObservabilityClient {
    /// Traces, newest first
    pub async fn traces(&self, options: ObservabilityTracesOptions) -> Result<TracePage> {
        self.api.observability_traces(options).await
    }

    /// Counts and durations over all traces
    pub async fn metrics(&self) -> Result<ObservabilityMetrics> {
        self.api.observability_metrics().await
    }

    /// Delete traces older than a time
    pub async fn clear(&self, before: Option<i64>) -> Result<Cleared> {
        self.api.observability_clear(ObservabilityClearOptions { before }).await
    }
}

impl SnapshotManager {
    /// Start a new sandbox from a snapshot
    pub async fn clone_sandbox(&self, snapshot_id: &str, name: Option<&str>) -> Result<SandboxInfo> {
        self.api.snapshot_clone(snapshot_id, SnapshotCloneOptions { name: name.map(Into::into) }).await
    }

    /// Delete a snapshot
    pub async fn delete(&self, snapshot_id: &str) -> Result<Deleted> {
        self.api.snapshot_delete(snapshot_id).await
    }

    /// Take a snapshot (the path of older clients)
    pub async fn create_short(&self, id: &str, options: SnapshotCreateShortOptions) -> Result<SnapshotInfo> {
        self.api.snapshot_create_short(id, options).await
    }
}

impl TemplateManager {
    /// Save a template
    pub async fn create(&self, name: &str, config: &TemplateCreateConfig, options: TemplateCreateOptions) -> Result<SandboxTemplate> {
        self.api.template_create(name, config, options).await
    }

    /// List templates
    pub async fn list(&self) -> Result<Vec<SandboxTemplate>> {
        Ok(self.api.template_list().await?.templates)
    }

    /// Get one template
    pub async fn get(&self, id: &str) -> Result<SandboxTemplate> {
        self.api.template_get(id).await
    }

    /// Delete a template that is not built in
    pub async fn delete(&self, id: &str) -> Result<Deleted> {
        self.api.template_delete(id).await
    }
}

impl TokenManager {
    /// Create a token; only this response has its secret
    pub async fn create(&self, name: &str, options: TokenCreateOptions) -> Result<Token> {
        self.api.token_create(name, options).await
    }

    /// List tokens
    pub async fn list(&self) -> Result<Vec<Token>> {
        Ok(self.api.token_list().await?.tokens)
    }

    /// One token with its quota and its tenant's usage
    pub async fn get(&self, token_id: &str) -> Result<Token> {
        self.api.token_get(token_id).await
    }

    /// Revoke a token at once and close its open streams
    pub async fn revoke(&self, token_id: &str) -> Result<Token> {
        self.api.token_revoke(token_id).await
    }

    /// Give a token a new secret; the old one is revoked
    pub async fn rotate(&self, token_id: &str) -> Result<Token> {
        self.api.token_rotate(token_id).await
    }
}

impl VolumeManager {
    /// Create a volume
    pub async fn create(&self, name: &str, driver: Option<&str>, size_mb: Option<i64>) -> Result<SandboxVolume> {
        self.api.volume_create(name, VolumeCreateOptions { driver: driver.map(Into::into), size_mb }).await
    }

    /// List volumes
    pub async fn list(&self) -> Result<VolumeList> {
        self.api.volume_list().await
    }

    /// Delete a volume
    pub async fn delete(&self, volume_id: &str) -> Result<Deleted> {
        self.api.volume_delete(volume_id).await
    }

    /// Unmount a volume
    pub async fn detach(&self, volume_id: &str) -> Result<VolumeDetached> {
        self.api.volume_detach(volume_id).await
    }
}

impl WebhookManager {
    /// Send events to a URL; only this response and that of a rotation have the secret
    pub async fn create(&self, url: &str, options: WebhookCreateOptions) -> Result<Webhook> {
        self.api.webhook_create(url, options).await
    }

    /// List webhooks
    pub async fn list(&self, options: WebhookListOptions) -> Result<Vec<Webhook>> {
        Ok(self.api.webhook_list(options).await?.webhooks)
    }

    /// Get one webhook
    pub async fn get(&self, webhook_id: &str) -> Result<Webhook> {
        self.api.webhook_get(webhook_id).await
    }

    /// Change the given settings of a webhook; enabled: true ends a disablement
    pub async fn update(&self, webhook_id: &str, options: WebhookUpdateOptions) -> Result<Webhook> {
        self.api.webhook_update(webhook_id, options).await
    }

    /// Delete a webhook with all messages that wait
    pub async fn delete(&self, webhook_id: &str) -> Result<Deleted> {
        self.api.webhook_delete(webhook_id).await
    }

    /// Send one message webhook.test now, without retries, and report the outcome
    pub async fn test(&self, webhook_id: &str) -> Result<WebhookTest> {
        self.api.webhook_test(webhook_id).await
    }

    /// Give a webhook a new secret; messages are signed with both until the overlap ends
    pub async fn rotate(&self, webhook_id: &str, options: WebhookRotateOptions) -> Result<Webhook> {
        self.api.webhook_rotate(webhook_id, options).await
    }

    /// Messages of a webhook that wait, and dead letters; delivered ones are not kept
    pub async fn deliveries(&self, webhook_id: &str, options: WebhookDeliveriesOptions) -> Result<WebhookDeliveryPage> {
        self.api.webhook_deliveries(webhook_id, options).await
    }

    /// Remove the dead letters of a webhook, or also what waits
    pub async fn purge(&self, webhook_id: &str, options: WebhookPurgeOptions) -> Result<WebhookPurged> {
        self.api.webhook_purge(webhook_id, options).await
    }

    /// Send a dead letter again, or all of them
    pub async fn retry(&self, webhook_id: &str, options: WebhookRetryOptions) -> Result<WebhookRetried> {
        self.api.webhook_retry(webhook_id, options).await
    }
}
