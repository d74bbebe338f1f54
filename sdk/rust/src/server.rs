//! What belongs to the server as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::error::Result;
use crate::generated::*;
use crate::http::{Api, HttpClient};
use crate::sse::EventStream;

macro_rules! manager_of_server {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone)]
        pub struct $name {
            api: Api,
        }

        impl $name {
            pub fn new(http: Arc<HttpClient>) -> Self {
                $name { api: Api::new(http) }
            }
        }
    };
}

manager_of_server! {
    /// What happened, and what happens.
    EventManager
}

impl EventManager {
    pub async fn history(&self, options: EventHistoryOptions) -> Result<EventPage> {
        self.api.event_history(options).await
    }

    pub async fn publish(
        &self,
        topic: &str,
        sandbox_id: &str,
        data: Option<BTreeMap<String, Value>>,
    ) -> Result<SandboxEvent> {
        self.api.event_publish(topic, sandbox_id, EventPublishOptions { data }).await
    }

    /// Events as they occur, all or those of one topic.
    pub async fn stream(&self, topic: Option<&str>) -> Result<EventStream<SandboxEvent>> {
        let options = StreamEventsOptions { topic: topic.map(Into::into), ..Default::default() };
        self.api.stream_events(options).await
    }
}

manager_of_server! {
    /// Networks between sandboxes.
    NetworkManager
}

impl NetworkManager {
    pub async fn create(&self, name: &str, driver: Option<&str>) -> Result<SandboxNetwork> {
        let options = NetworkCreateOptions { driver: driver.map(Into::into) };
        self.api.network_create(name, options).await
    }

    pub async fn list(&self) -> Result<NetworkList> {
        self.api.network_list().await
    }

    pub async fn connect(&self, network_id: &str, sandbox_id: &str) -> Result<NetworkConnected> {
        self.api.network_connect(network_id, sandbox_id).await
    }

    pub async fn disconnect(&self, network_id: &str, sandbox_id: &str) -> Result<NetworkDisconnected> {
        self.api.network_disconnect(network_id, sandbox_id).await
    }

    pub async fn delete(&self, network_id: &str) -> Result<Deleted> {
        self.api.network_delete(network_id).await
    }
}

manager_of_server! {
    /// Folders that outlive sandboxes.
    VolumeManager
}

impl VolumeManager {
    pub async fn create(&self, name: &str, driver: Option<&str>) -> Result<SandboxVolume> {
        let options = VolumeCreateOptions { driver: driver.map(Into::into) };
        self.api.volume_create(name, options).await
    }

    pub async fn list(&self) -> Result<VolumeList> {
        self.api.volume_list().await
    }

    pub async fn delete(&self, volume_id: &str) -> Result<Deleted> {
        self.api.volume_delete(volume_id).await
    }

    pub async fn attach(&self, volume_id: &str, sandbox_id: &str, mount_path: &str) -> Result<VolumeAttached> {
        let options = VolumeAttachOptions::default();
        self.api.volume_attach(volume_id, sandbox_id, mount_path, options).await
    }

    pub async fn attach_read_only(
        &self,
        volume_id: &str,
        sandbox_id: &str,
        mount_path: &str,
    ) -> Result<VolumeAttached> {
        let options = VolumeAttachOptions { read_only: Some(true) };
        self.api.volume_attach(volume_id, sandbox_id, mount_path, options).await
    }

    pub async fn detach(&self, volume_id: &str) -> Result<VolumeDetached> {
        self.api.volume_detach(volume_id).await
    }
}

manager_of_server! {
    /// Traces of calls, and numbers over them.
    ObservabilityClient
}

impl ObservabilityClient {
    pub async fn traces(&self, options: ObservabilityTracesOptions) -> Result<TracePage> {
        self.api.observability_traces(options).await
    }

    pub async fn metrics(&self) -> Result<ObservabilityMetrics> {
        self.api.observability_metrics().await
    }

    /// Forgets traces older than `before` (milliseconds since the epoch, default: now).
    pub async fn clear(&self, before: Option<i64>) -> Result<Cleared> {
        self.api.observability_clear(ObservabilityClearOptions { before }).await
    }
}

manager_of_server! {
    /// Configurations to create sandboxes from.
    TemplateManager
}

impl TemplateManager {
    pub async fn create(
        &self,
        name: &str,
        config: &TemplateCreateConfig,
        options: TemplateCreateOptions,
    ) -> Result<SandboxTemplate> {
        self.api.template_create(name, config, options).await
    }

    pub async fn list(&self) -> Result<Vec<SandboxTemplate>> {
        Ok(self.api.template_list().await?.templates)
    }

    pub async fn get(&self, id: &str) -> Result<SandboxTemplate> {
        self.api.template_get(id).await
    }

    pub async fn delete(&self, id: &str) -> Result<Deleted> {
        self.api.template_delete(id).await
    }
}

manager_of_server! {
    /// Snapshots after their sandbox is gone. Those of a sandbox are made and listed by [`crate::Sandbox`].
    SnapshotManager
}

impl SnapshotManager {
    /// A new sandbox from a snapshot.
    pub async fn clone_sandbox(&self, snapshot_id: &str, name: Option<&str>) -> Result<SandboxInfo> {
        let options = SnapshotCloneOptions { name: name.map(Into::into) };
        self.api.snapshot_clone(snapshot_id, options).await
    }

    pub async fn delete(&self, snapshot_id: &str) -> Result<Deleted> {
        self.api.snapshot_delete(snapshot_id).await
    }
}

manager_of_server! {
    /// Images of the server.
    ImageManager
}

impl ImageManager {
    pub async fn list(&self) -> Result<Vec<Image>> {
        Ok(self.api.image_list().await?.images)
    }

    pub async fn pull(&self, image: &str) -> Result<Image> {
        self.api.image_pull(image).await
    }

    /// Pulls and tells how far it is.
    pub async fn pull_events(&self, image: &str) -> Result<EventStream<ImageEvent>> {
        self.api.image_pull_events(image).await
    }

    /// By the query string, because names have slashes.
    pub async fn delete(&self, name: &str) -> Result<Deleted> {
        self.api.image_delete_query(name).await
    }
}

manager_of_server! {
    /// API tokens, their roles and quotas. Needs a token with the role admin.
    TokenManager
}

impl TokenManager {
    pub async fn create(&self, name: &str, options: TokenCreateOptions) -> Result<Token> {
        self.api.token_create(name, options).await
    }

    pub async fn list(&self) -> Result<Vec<Token>> {
        Ok(self.api.token_list().await?.tokens)
    }

    pub async fn get(&self, token_id: &str) -> Result<Token> {
        self.api.token_get(token_id).await
    }

    pub async fn revoke(&self, token_id: &str) -> Result<Token> {
        self.api.token_revoke(token_id).await
    }

    pub async fn rotate(&self, token_id: &str) -> Result<Token> {
        self.api.token_rotate(token_id).await
    }
}

manager_of_server! {
    /// Health, counters, the warm pool and workers.
    AdminClient
}

impl AdminClient {
    pub async fn health(&self) -> Result<Health> {
        self.api.health().await
    }

    pub async fn metrics(&self) -> Result<GlobalMetrics> {
        self.api.metrics_global().await
    }

    pub async fn pool_status(&self) -> Result<PoolStatus> {
        self.api.pool_status().await
    }

    pub async fn openapi(&self) -> Result<OpenApi> {
        self.api.openapi().await
    }

    /// Ends sandboxes that have expired, now.
    pub async fn sweep(&self) -> Result<Swept> {
        self.api.ttl_sweep().await
    }

    pub async fn workers(&self) -> Result<WorkerList> {
        self.api.worker_list().await
    }

    pub async fn select_worker(&self) -> Result<WorkerSelected> {
        self.api.worker_select().await
    }

    pub async fn reap_workers(&self) -> Result<WorkersReaped> {
        self.api.worker_reap().await
    }

    pub async fn migrate_workers(&self) -> Result<WorkersMigrated> {
        self.api.worker_migrate().await
    }

    pub async fn heartbeat(&self) -> Result<WorkerInfo> {
        self.api.worker_heartbeat().await
    }
}
