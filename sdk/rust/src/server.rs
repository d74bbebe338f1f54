//! What belongs to the server as a whole. Methods that are one operation each are in `generated`.

use std::sync::Arc;

use crate::error::Result;
use crate::generated::*;
use crate::http::{Api, HttpClient};

macro_rules! manager_of_server {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone)]
        pub struct $name {
            pub(crate) api: Api,
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

manager_of_server! {
    /// Networks between sandboxes.
    NetworkManager
}

manager_of_server! {
    /// Folders that outlive sandboxes.
    VolumeManager
}

impl VolumeManager {
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
}

manager_of_server! {
    /// Events to URLs, signed and retried.
    WebhookManager
}

manager_of_server! {
    /// Traces of calls, and numbers over them.
    ObservabilityClient
}

manager_of_server! {
    /// Configurations to create sandboxes from.
    TemplateManager
}

manager_of_server! {
    /// Snapshots after their sandbox is gone. Those of a sandbox are made and listed by [`crate::Sandbox`].
    SnapshotManager
}

manager_of_server! {
    /// Images of the server.
    ImageManager
}

manager_of_server! {
    /// API tokens, their roles and quotas. Needs a token with the role admin.
    TokenManager
}

manager_of_server! {
    /// Health, counters, the warm pool and workers.
    AdminClient
}
