//! What belongs to one sandbox, by subject. [`crate::Sandbox`] has one of each. Methods that are one operation each are in `generated`.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::generated::*;
use crate::http::Api;
use crate::sse::EventStream;

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

manager! {
    /// Environment variables of everything that is started from now on.
    EnvManager
}

impl EnvManager {
    pub async fn set<K: Into<String>, V: Into<String>>(
        &self,
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Result<EnvSet> {
        let vars: BTreeMap<String, String> = vars.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        self.api.env_set(&self.id, &vars).await
    }
}

manager! {
    /// git, run inside the sandbox.
    GitManager
}

manager! {
    /// Snippets of code, each in an interpreter of its own; [`ContextManager`] keeps variables between them.
    CodeInterpreter
}

impl CodeInterpreter {
    /// Gives what the package manager (default pip) printed.
    pub async fn install<I: IntoIterator>(&self, packages: I, manager: Option<&str>) -> Result<String>
    where
        I::Item: Into<String>,
    {
        let options = InterpInstallOptions { manager: Some(manager.unwrap_or("pip").into()) };
        Ok(self.api.interp_install(&self.id, &strings(packages), options).await?.output)
    }
}

manager! {
    /// Interpreters whose variables live between calls, with rich results: images, tables, JSON.
    ContextManager
}

manager! {
    /// Processes inside the sandbox.
    ProcessManager
}

manager! {
    /// Ports of the sandbox that the host can reach, and requests to them by way of the server.
    PortManager
}

impl PortManager {
    /// Where a browser finds the exposed port.
    pub fn proxy_url(&self, port: i64) -> String {
        format!("{}/sandbox/proxy/{}/{port}", self.api.http().base_url(), self.id)
    }
}

manager! {
    /// Commands of the sandbox's configuration that its agent keeps running.
    ServiceManager
}

manager! {
    /// Commands that wait for their turn.
    QueueManager
}

impl QueueManager {
    /// Jobs of all sandboxes that failed for good.
    pub async fn dlq(&self, limit: Option<i64>) -> Result<QueueJobPage> {
        self.api.queue_dlq(QueueDlqOptions { limit, ..Default::default() }).await
    }
}

manager! {
    /// Live output and numbers. Streams have no time limit; drop them to leave.
    StreamManager
}

manager! {
    /// Alerts on the use of cpu, memory or pids.
    MonitorManager
}

manager! {
    /// Commands that outlive their connection and the server, with input and output that can be taken up again at any offset.
    JobManager
}

impl JobManager {
    /// Output from this byte on, as it comes, until the command ends.
    pub async fn follow(&self, exec_id: &str, offset: i64) -> Result<EventStream<ExecOutputEvent>> {
        let options = ExecOutputOptions { offset: Some(offset), follow: Some(true), ..Default::default() };
        self.api.exec_output_events(exec_id, options).await
    }
}

manager! {
    /// What the sandbox may connect to.
    EgressManager
}
