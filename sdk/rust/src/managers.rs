//! What belongs to one sandbox, by subject. [`crate::Sandbox`] has one of each.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::generated::*;
use crate::http::Api;
use crate::sse::EventStream;
use crate::value::Command;

macro_rules! manager {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone)]
        pub struct $name {
            pub(crate) api: Api,
            pub(crate) id: String,
        }

        impl $name {
            /// For a sandbox by its id, without asking the server.
            pub fn of(api: &Api, id: &str) -> Self {
                $name { api: api.clone(), id: id.to_string() }
            }
        }
    };
}
pub(crate) use manager;

pub(crate) fn strings<I: IntoIterator>(items: I) -> Vec<String>
where
    I::Item: Into<String>,
{
    items.into_iter().map(Into::into).collect()
}

fn text(value: Option<&str>) -> Option<String> {
    value.map(str::to_string)
}

manager! {
    /// Environment variables of everything that is started from now on.
    EnvManager
}

impl EnvManager {
    pub async fn get(&self, key: &str) -> Result<EnvValue> {
        self.api.env_get(&self.id, key).await
    }

    pub async fn set<K: Into<String>, V: Into<String>>(
        &self,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Result<EnvSet> {
        let vars: BTreeMap<String, String> = vars.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        self.api.env_set(&self.id, &vars).await
    }

    pub async fn list(&self) -> Result<EnvList> {
        self.api.env_list(&self.id).await
    }

    pub async fn delete(&self, key: &str) -> Result<EnvDeleted> {
        self.api.env_delete(&self.id, key).await
    }
}

manager! {
    /// git, run inside the sandbox.
    GitManager
}

impl GitManager {
    pub async fn clone_repo(&self, url: &str, options: GitCloneOptions) -> Result<ExecResult> {
        self.api.git_clone(&self.id, url, options).await
    }

    pub async fn status(&self, path: Option<&str>) -> Result<GitStatus> {
        self.api.git_status(&self.id, GitStatusOptions { path: text(path) }).await
    }

    pub async fn commit(&self, message: &str, options: GitCommitOptions) -> Result<ExecResult> {
        self.api.git_commit(&self.id, message, options).await
    }

    pub async fn diff(&self, options: GitDiffOptions) -> Result<GitDiff> {
        self.api.git_diff(&self.id, options).await
    }

    pub async fn log(&self, options: GitLogOptions) -> Result<GitLog> {
        self.api.git_log(&self.id, options).await
    }

    pub async fn branch(&self, options: GitBranchOptions) -> Result<GitBranches> {
        self.api.git_branch(&self.id, options).await
    }

    pub async fn checkout(&self, reference: &str, path: Option<&str>) -> Result<ExecResult> {
        self.api.git_checkout(&self.id, reference, GitCheckoutOptions { path: text(path) }).await
    }

    pub async fn push(&self, options: GitPushOptions) -> Result<ExecResult> {
        self.api.git_push(&self.id, options).await
    }

    pub async fn pull(&self, options: GitPullOptions) -> Result<ExecResult> {
        self.api.git_pull(&self.id, options).await
    }
}

manager! {
    /// Snippets of code, each in an interpreter of its own; [`ContextManager`] keeps variables between them.
    CodeInterpreter
}

impl CodeInterpreter {
    /// Language: python (default), javascript, typescript, go or bash.
    pub async fn run(&self, code: &str, language: Option<&str>) -> Result<CodeResult> {
        let options = InterpExecuteOptions { language: text(language) };
        self.api.interp_execute(&self.id, code, options).await
    }

    /// Gives what the package manager (default pip) printed.
    pub async fn install<I: IntoIterator>(&self, packages: I, manager: Option<&str>) -> Result<String>
    where
        I::Item: Into<String>,
    {
        let options = InterpInstallOptions { manager: Some(manager.unwrap_or("pip").into()) };
        Ok(self.api.interp_install(&self.id, &strings(packages), options).await?.output)
    }

    pub async fn kernels(&self) -> Result<KernelList> {
        self.api.interp_kernels(&self.id).await
    }
}

manager! {
    /// Interpreters whose variables live between calls, with rich results: images, tables, JSON.
    ContextManager
}

impl ContextManager {
    pub async fn create(&self, options: ContextCreateOptions) -> Result<Context> {
        self.api.context_create(&self.id, options).await
    }

    pub async fn list(&self) -> Result<Vec<Context>> {
        Ok(self.api.context_list(&self.id).await?.contexts)
    }

    pub async fn get(&self, context_id: &str) -> Result<Context> {
        self.api.context_get(&self.id, context_id).await
    }

    pub async fn delete(&self, context_id: &str) -> Result<ContextDeleted> {
        self.api.context_delete(&self.id, context_id).await
    }

    pub async fn execute(&self, context_id: &str, code: &str, options: ContextExecuteOptions) -> Result<ContextResult> {
        self.api.context_execute(&self.id, context_id, code, options).await
    }

    pub async fn execute_stream(
        &self,
        context_id: &str,
        code: &str,
        options: ContextExecuteStreamOptions,
    ) -> Result<EventStream<ContextEvent>> {
        self.api.context_execute_stream(&self.id, context_id, code, options).await
    }

    pub async fn interrupt(&self, context_id: &str) -> Result<ContextInterrupted> {
        self.api.context_interrupt(&self.id, context_id).await
    }

    pub async fn restart(&self, context_id: &str) -> Result<Context> {
        self.api.context_restart(&self.id, context_id).await
    }
}

manager! {
    /// Processes inside the sandbox.
    ProcessManager
}

impl ProcessManager {
    pub async fn list(&self) -> Result<ProcessList> {
        self.api.proc_list(&self.id).await
    }

    /// Signal: TERM (default), KILL, INT and the like.
    pub async fn kill(&self, pid: i64, signal: Option<&str>) -> Result<ProcessKilled> {
        self.api.proc_kill(&self.id, pid, ProcKillOptions { signal: text(signal) }).await
    }

    pub async fn top(&self) -> Result<ProcessTop> {
        self.api.proc_top(&self.id).await
    }
}

manager! {
    /// Ports of the sandbox that the host can reach, and requests to them by way of the server.
    PortManager
}

impl PortManager {
    pub async fn expose(
        &self,
        container_port: i64,
        host_port: Option<i64>,
        protocol: Option<&str>,
    ) -> Result<PortMapping> {
        let options = PortExposeOptions { host_port, protocol: text(protocol) };
        self.api.port_expose(&self.id, container_port, options).await
    }

    pub async fn list(&self) -> Result<PortList> {
        self.api.port_list(&self.id).await
    }

    pub async fn unexpose(&self, container_port: i64) -> Result<PortRemoved> {
        self.api.port_unexpose(&self.id, container_port).await
    }

    /// Where a browser finds the exposed port.
    pub fn proxy_url(&self, port: i64) -> String {
        format!("{}/sandbox/proxy/{}/{port}", self.api.http().base_url(), self.id)
    }

    /// One HTTP request to an exposed port.
    pub async fn request(&self, port: i64, options: ProxyRequestOptions) -> Result<ProxyReply> {
        self.api.proxy_request(&self.id, port, options).await
    }

    /// Reads the proxy's settings, and changes those that are given.
    pub async fn configure(&self, options: ProxyConfigOptions) -> Result<ProxyConfig> {
        self.api.proxy_config(&self.id, options).await
    }
}

manager! {
    /// Commands that wait for their turn.
    QueueManager
}

impl QueueManager {
    pub async fn submit(&self, command: impl Into<Command>, options: QueueSubmitOptions) -> Result<QueueJobInfo> {
        self.api.queue_submit(&self.id, command, options).await
    }

    pub async fn status(&self, job_id: &str) -> Result<QueueJobInfo> {
        self.api.queue_status(job_id).await
    }

    pub async fn cancel(&self, job_id: &str) -> Result<QueueCancelled> {
        self.api.queue_cancel(job_id).await
    }

    /// A job that failed for good gets another round.
    pub async fn retry(&self, job_id: &str) -> Result<QueueJobInfo> {
        self.api.queue_retry(job_id).await
    }

    /// Jobs of all sandboxes that failed for good.
    pub async fn dlq(&self, limit: Option<i64>) -> Result<QueueJobPage> {
        self.api.queue_dlq(QueueDlqOptions { limit, ..Default::default() }).await
    }
}

manager! {
    /// Live output and numbers. Streams have no time limit; drop them to leave.
    StreamManager
}

impl StreamManager {
    pub async fn logs(&self, options: StreamLogsOptions) -> Result<EventStream<LogEvent>> {
        self.api.stream_logs(&self.id, options).await
    }

    /// One sample at once, then one every `interval` seconds (default 5).
    pub async fn metrics(&self, interval: Option<i64>) -> Result<EventStream<SandboxMetrics>> {
        self.api.stream_metrics(&self.id, StreamMetricsOptions { interval }).await
    }
}

manager! {
    /// Alerts on the use of cpu, memory or pids.
    MonitorManager
}

impl MonitorManager {
    /// Action: notify (default), pause or kill.
    pub async fn set_alert(&self, metric: &str, threshold: f64, action: Option<&str>) -> Result<ResourceAlert> {
        self.api.alert_set(&self.id, metric, threshold, AlertSetOptions { action: text(action) }).await
    }

    pub async fn list_alerts(&self) -> Result<AlertList> {
        self.api.alert_list(&self.id).await
    }

    pub async fn delete_alert(&self, alert_id: &str) -> Result<Deleted> {
        self.api.alert_delete(alert_id).await
    }

    pub async fn history(&self, limit: Option<i64>) -> Result<AlertEventPage> {
        self.api.alert_history(&self.id, AlertHistoryOptions { limit }).await
    }
}

manager! {
    /// Commands that outlive their connection and the server, with input and output that can be taken up again at any offset.
    JobManager
}

impl JobManager {
    pub async fn start(&self, command: impl Into<Command>, options: ExecStartOptions) -> Result<DurableExec> {
        self.api.exec_start(&self.id, command, options).await
    }

    pub async fn list(&self) -> Result<Vec<DurableExec>> {
        Ok(self.api.exec_list(&self.id).await?.execs)
    }

    pub async fn get(&self, exec_id: &str) -> Result<DurableExec> {
        self.api.exec_get(exec_id).await
    }

    pub async fn output(&self, exec_id: &str, options: ExecOutputOptions) -> Result<ExecOutput> {
        self.api.exec_output(exec_id, options).await
    }

    /// Output from this byte on, as it comes, until the command ends.
    pub async fn follow(&self, exec_id: &str, offset: i64) -> Result<EventStream<ExecOutputEvent>> {
        let options = ExecOutputOptions { offset: Some(offset), follow: Some(true), ..Default::default() };
        self.api.exec_output_events(exec_id, options).await
    }

    pub async fn input(&self, exec_id: &str, options: ExecInputOptions) -> Result<ExecWritten> {
        self.api.exec_input(exec_id, options).await
    }

    pub async fn signal(&self, exec_id: &str, signal: Option<&str>) -> Result<ExecSignalled> {
        self.api.exec_signal(exec_id, ExecSignalOptions { signal: text(signal) }).await
    }
}

manager! {
    /// What the sandbox may connect to.
    EgressManager
}

impl EgressManager {
    pub async fn get(&self) -> Result<EgressPolicy> {
        self.api.egress_get(&self.id).await
    }

    pub async fn set(&self, options: EgressSetOptions) -> Result<EgressPolicy> {
        self.api.egress_set(&self.id, options).await
    }
}
