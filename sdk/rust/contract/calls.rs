//! The operations as a user calls them: through the managers. Those that are not here have no form but that of `Api`.

use iii_sandbox::*;
use serde::de::DeserializeOwned;
use serde_json::{json, Value};

use crate::args::{arg, key, options, value};

struct Given<'a> {
    api: &'a Api,
    args: &'a Value,
}

impl Given<'_> {
    fn text(&self, name: &str) -> Result<String> {
        arg(self.args, name)
    }

    /// An optional field.
    fn maybe<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        arg(self.args, name)
    }

    fn id(&self) -> Result<String> {
        self.text("id")
    }

    async fn sandbox(&self) -> Result<Sandbox> {
        Ok(Sandbox::new(self.api.clone(), self.api.sandbox_get(&self.id()?).await?))
    }
}

pub async fn call(api: &Api, name: &str, args: &Value) -> Result<Option<Value>> {
    let g = Given { api, args };
    if let Some(answer) = of_sandbox(&g, name).await? {
        return Ok(Some(answer));
    }
    match of_subject(&g, name).await? {
        Some(answer) => Ok(Some(answer)),
        None => of_server(&g, name).await,
    }
}

async fn of_sandbox(g: &Given<'_>, name: &str) -> Result<Option<Value>> {
    let config = || Some(g.api.http().config().clone());
    Ok(Some(match name {
        "sandbox_create" => {
            let options = SandboxCreateOptions { idempotency_key: key(g.args), ..options(g.args)? };
            value(create_sandbox(options, config()).await?.info)?
        }
        "sandbox_get" => value(get_sandbox(&g.id()?, config()).await?.info)?,
        "template_list" => json!({ "templates": list_templates(config()).await? }),
        "sandbox_renew" => {
            let mut sandbox = g.sandbox().await?;
            sandbox.renew(arg(g.args, "expiresAt")?).await?;
            value(sandbox.info)?
        }
        "cmd_interrupt" => value(g.sandbox().await?.interrupt(g.maybe("pid")?).await?)?,
        "metrics_sandbox" => value(g.sandbox().await?.metrics().await?)?,
        "snapshot_create" => value(g.sandbox().await?.snapshot(g.maybe::<String>("name")?.as_deref()).await?)?,
        "snapshot_restore" => value(g.sandbox().await?.restore(&g.text("snapshotId")?).await?)?,
        "snapshot_list" => value(g.sandbox().await?.list_snapshots().await?)?,
        _ => return Ok(None),
    }))
}

async fn of_subject(g: &Given<'_>, name: &str) -> Result<Option<Value>> {
    let id = g.maybe::<String>("id")?.unwrap_or_default();
    let files = FileSystem::of(g.api, &id);
    let git = GitManager::of(g.api, &id);
    let contexts = ContextManager::of(g.api, &id);
    let ports = PortManager::of(g.api, &id);
    let queue = QueueManager::of(g.api, &id);
    let jobs = JobManager::of(g.api, &id);
    let monitor = MonitorManager::of(g.api, &id);
    let processes = ProcessManager::of(g.api, &id);
    let env = EnvManager::of(g.api, &id);
    let code = CodeInterpreter::of(g.api, &id);
    Ok(Some(match name {
        "fs_read" => value(files.read(&g.text("path")?).await?)?,
        "fs_write" => value(files.write(&g.text("path")?, &g.text("content")?).await?)?,
        "fs_delete" => value(files.delete(&g.text("path")?).await?)?,
        "fs_list" => value(files.list(g.maybe::<String>("path")?.as_deref()).await?)?,
        "fs_search" => value(files.search(&g.text("pattern")?, g.maybe::<String>("dir")?.as_deref()).await?)?,
        "fs_upload" => value(files.upload(&g.text("path")?, &g.text("content")?).await?)?,
        "fs_download" => value(files.download(&g.text("path")?).await?)?,
        "fs_move" => value(files.move_all(&arg::<Vec<FsMoveMove>>(g.args, "moves")?).await?)?,
        "fs_chmod" => value(files.chmod(&g.text("path")?, &g.text("mode")?).await?)?,
        "env_get" => value(env.get(&g.text("key")?).await?)?,
        "env_set" => value(env.set(arg::<std::collections::BTreeMap<String, String>>(g.args, "vars")?).await?)?,
        "env_list" => value(env.list().await?)?,
        "env_delete" => value(env.delete(&g.text("key")?).await?)?,
        "git_clone" => value(git.clone_repo(&g.text("url")?, options(g.args)?).await?)?,
        "git_status" => value(git.status(g.maybe::<String>("path")?.as_deref()).await?)?,
        "git_commit" => value(git.commit(&g.text("message")?, options(g.args)?).await?)?,
        "git_diff" => value(git.diff(options(g.args)?).await?)?,
        "git_log" => value(git.log(options(g.args)?).await?)?,
        "git_branch" => value(git.branch(options(g.args)?).await?)?,
        "git_checkout" => value(git.checkout(&g.text("ref")?, g.maybe::<String>("path")?.as_deref()).await?)?,
        "git_push" => value(git.push(options(g.args)?).await?)?,
        "git_pull" => value(git.pull(options(g.args)?).await?)?,
        "interp_execute" => value(code.run(&g.text("code")?, g.maybe::<String>("language")?.as_deref()).await?)?,
        "interp_kernels" => value(code.kernels().await?)?,
        "context_create" => value(contexts.create(options(g.args)?).await?)?,
        "context_list" => json!({ "contexts": contexts.list().await? }),
        "context_get" => value(contexts.get(&g.text("contextId")?).await?)?,
        "context_delete" => value(contexts.delete(&g.text("contextId")?).await?)?,
        "context_execute" => value(contexts.execute(&g.text("contextId")?, &g.text("code")?, options(g.args)?).await?)?,
        "context_interrupt" => value(contexts.interrupt(&g.text("contextId")?).await?)?,
        "context_restart" => value(contexts.restart(&g.text("contextId")?).await?)?,
        "proc_list" => value(processes.list().await?)?,
        "proc_top" => value(processes.top().await?)?,
        "proc_kill" => value(processes.kill(arg(g.args, "pid")?, g.maybe::<String>("signal")?.as_deref()).await?)?,
        "port_expose" => {
            let protocol = g.maybe::<String>("protocol")?;
            value(ports.expose(arg(g.args, "containerPort")?, g.maybe("hostPort")?, protocol.as_deref()).await?)?
        }
        "port_list" => value(ports.list().await?)?,
        "port_unexpose" => value(ports.unexpose(arg(g.args, "containerPort")?).await?)?,
        "proxy_request" => value(ports.request(arg(g.args, "port")?, options(g.args)?).await?)?,
        "proxy_config" => value(ports.configure(options(g.args)?).await?)?,
        "queue_status" => value(queue.status(&g.text("jobId")?).await?)?,
        "queue_cancel" => value(queue.cancel(&g.text("jobId")?).await?)?,
        "queue_retry" => value(queue.retry(&g.text("jobId")?).await?)?,
        "exec_list" => json!({ "execs": jobs.list().await? }),
        "exec_get" => value(jobs.get(&g.text("execId")?).await?)?,
        "exec_output" => value(jobs.output(&g.text("execId")?, options(g.args)?).await?)?,
        "exec_input" => value(jobs.input(&g.text("execId")?, options(g.args)?).await?)?,
        "exec_signal" => value(jobs.signal(&g.text("execId")?, g.maybe::<String>("signal")?.as_deref()).await?)?,
        "alert_set" => {
            let action = g.maybe::<String>("action")?;
            value(monitor.set_alert(&g.text("metric")?, arg(g.args, "threshold")?, action.as_deref()).await?)?
        }
        "alert_list" => value(monitor.list_alerts().await?)?,
        "alert_delete" => value(monitor.delete_alert(&g.text("alertId")?).await?)?,
        "alert_history" => value(monitor.history(g.maybe("limit")?).await?)?,
        "egress_get" => value(EgressManager::of(g.api, &id).get().await?)?,
        "egress_set" => value(EgressManager::of(g.api, &id).set(options(g.args)?).await?)?,
        "terminal_create" => value(TerminalManager::of(g.api, &id).create(options(g.args)?).await?)?,
        _ => return Ok(None),
    }))
}

async fn of_server(g: &Given<'_>, name: &str) -> Result<Option<Value>> {
    let http = || g.api.http().clone();
    let (networks, volumes) = (NetworkManager::new(http()), VolumeManager::new(http()));
    let (tokens, admin) = (TokenManager::new(http()), AdminClient::new(http()));
    let driver = g.maybe::<String>("driver")?;
    Ok(Some(match name {
        "event_history" => value(EventManager::new(http()).history(options(g.args)?).await?)?,
        "network_create" => value(networks.create(&g.text("name")?, driver.as_deref()).await?)?,
        "network_list" => value(networks.list().await?)?,
        "network_connect" => value(networks.connect(&g.text("networkId")?, &g.text("sandboxId")?).await?)?,
        "network_disconnect" => value(networks.disconnect(&g.text("networkId")?, &g.text("sandboxId")?).await?)?,
        "network_delete" => value(networks.delete(&g.text("networkId")?).await?)?,
        "volume_create" => value(volumes.create(&g.text("name")?, driver.as_deref()).await?)?,
        "volume_list" => value(volumes.list().await?)?,
        "volume_delete" => value(volumes.delete(&g.text("volumeId")?).await?)?,
        "volume_detach" => value(volumes.detach(&g.text("volumeId")?).await?)?,
        "observability_metrics" => value(ObservabilityClient::new(http()).metrics().await?)?,
        "observability_clear" => value(ObservabilityClient::new(http()).clear(g.maybe("before")?).await?)?,
        "image_list" => json!({ "images": ImageManager::new(http()).list().await? }),
        "snapshot_delete" => value(SnapshotManager::new(http()).delete(&g.text("snapshotId")?).await?)?,
        "token_create" => value(tokens.create(&g.text("name")?, options(g.args)?).await?)?,
        "token_list" => json!({ "tokens": tokens.list().await? }),
        "token_get" => value(tokens.get(&g.text("tokenId")?).await?)?,
        "token_revoke" => value(tokens.revoke(&g.text("tokenId")?).await?)?,
        "token_rotate" => value(tokens.rotate(&g.text("tokenId")?).await?)?,
        "health" => value(admin.health().await?)?,
        "metrics_global" => value(admin.metrics().await?)?,
        "pool_status" => value(admin.pool_status().await?)?,
        "ttl_sweep" => value(admin.sweep().await?)?,
        "openapi" => value(admin.openapi().await?)?,
        "worker_list" => value(admin.workers().await?)?,
        "worker_select" => value(admin.select_worker().await?)?,
        "worker_reap" => value(admin.reap_workers().await?)?,
        "worker_migrate" => value(admin.migrate_workers().await?)?,
        "worker_heartbeat" => value(admin.heartbeat().await?)?,
        _ => return Ok(None),
    }))
}
