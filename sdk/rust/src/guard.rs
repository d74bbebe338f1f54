//! A sandbox that ends with its scope.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::error::Result;
use crate::http::{Api, ClientConfig};
use crate::sandbox::Sandbox;

/// How long a drop waits for the server.
const DROP_TIMEOUT: Duration = Duration::from_secs(10);

/// Kills its sandbox when it is dropped. Prefer [`SandboxGuard::close`], which does not block the thread and reports errors;
/// the drop is for early returns and panics.
pub struct SandboxGuard {
    sandbox: Option<Sandbox>,
}

impl std::fmt::Debug for SandboxGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.sandbox.fmt(f)
    }
}

impl SandboxGuard {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        SandboxGuard { sandbox: Some(sandbox) }
    }

    /// The sandbox lives on.
    pub fn keep(mut self) -> Sandbox {
        self.sandbox.take().expect("only keep and close take it, and they consume the guard")
    }

    pub async fn close(self) -> Result<()> {
        self.keep().kill().await
    }
}

impl Deref for SandboxGuard {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        self.sandbox.as_ref().expect("only keep and close take it, and they consume the guard")
    }
}

impl DerefMut for SandboxGuard {
    fn deref_mut(&mut self) -> &mut Sandbox {
        self.sandbox.as_mut().expect("only keep and close take it, and they consume the guard")
    }
}

impl Drop for SandboxGuard {
    fn drop(&mut self) {
        let Some(sandbox) = self.sandbox.take() else { return };
        let config = sandbox.api().http().config().clone();
        let id = sandbox.id().to_string();
        // A task of the caller's runtime may never run again once this scope ends; a thread with its own runtime always does.
        let _ = std::thread::spawn(move || kill_blocking(config, &id)).join();
    }
}

/// Errors go nowhere from a drop: the sandbox then lives until it expires.
fn kill_blocking(mut config: ClientConfig, id: &str) {
    config.timeout_ms = DROP_TIMEOUT.as_millis() as u64;
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    let Ok(api) = Api::connect(config) else { return };
    let _ = runtime.block_on(api.sandbox_kill(id));
}
