// Runs requests of the contract scenarios (tests/contract/README.md) through the classes of this package.
import { createInterface } from "node:readline";
import { ApiError, Client } from "../dist/index.js";

const baseUrl = process.env.III_URL;

/** A sandbox by its id alone: the requests name it by nothing else. */
const box = (client, id) => client.sandbox({ id });

const lifecycle = {
  sandbox_create: async (c, a) => (await c.createSandbox(a)).info,
  sandbox_list: (c, a) => c.listSandboxes(a),
  sandbox_get: async (c, a) => (await c.getSandbox(a.id)).info,
  sandbox_kill: (c, a) => box(c, a.id).kill(),
  sandbox_pause: (c, a) => box(c, a.id).pause(),
  sandbox_resume: (c, a) => box(c, a.id).resume(),
  sandbox_renew: (c, a) => box(c, a.id).renew(a.expiresAt),
  sandbox_clone: (c, a) => box(c, a.id).clone(a.name),
  sandbox_fork: (c, a) => box(c, a.id).fork({ count: a.count, name: a.name }),
  metrics_sandbox: (c, a) => box(c, a.id).metrics(),
  snapshot_create: (c, a) => box(c, a.id).snapshot(a.name),
  snapshot_list: (c, a) => box(c, a.id).listSnapshots(),
  snapshot_restore: (c, a) => box(c, a.id).restore(a.snapshotId),
  snapshot_clone: (c, a) => c.snapshots.clone(a.snapshotId, a.name),
  snapshot_delete: (c, a) => c.snapshots.delete(a.snapshotId),
  snapshot_create_short: (c, a) => c.snapshots.createShort(a.id, { name: a.name, comment: a.comment }),
};

const commands = {
  cmd_run: (c, a) => box(c, a.id).exec(a.command, { timeout: a.timeout, cwd: a.cwd }),
  cmd_run_stream: (c, a) => box(c, a.id).execStream(a.command, { timeout: a.timeout, cwd: a.cwd }),
  cmd_background: (c, a) => box(c, a.id).background.start(a.command),
  cmd_background_status: (c, a) => box(c, "").background.status(a.id),
  cmd_background_logs: (c, a) => box(c, "").background.logs(a.id, a.cursor),
  cmd_interrupt: (c, a) => box(c, a.id).interrupt(a.pid),
  exec_start: (c, { id, command, ...rest }) => box(c, id).durable.start(command, rest),
  exec_list: async (c, a) => ({ execs: await box(c, a.id).durable.list() }),
  exec_get: (c, a) => box(c, "").durable.get(a.execId),
  exec_output: (c, { execId, ...rest }, stream) =>
    stream ? box(c, "").durable.follow(execId, rest) : box(c, "").durable.output(execId, rest),
  exec_input: (c, { execId, data, ...rest }) => box(c, "").durable.input(execId, data, rest),
  exec_signal: (c, a) => box(c, "").durable.signal(a.execId, a.signal),
  queue_submit: (c, { id, command, ...rest }) => box(c, id).queue.submit(command, rest),
  queue_status: (c, a) => box(c, "").queue.status(a.jobId),
  queue_cancel: (c, a) => box(c, "").queue.cancel(a.jobId),
  queue_retry: (c, a) => box(c, "").queue.retry(a.jobId),
  queue_dlq: (c, a) => box(c, "").queue.dlq(a.limit, a.offset),
  interp_execute: (c, a) => box(c, a.id).interpreter.run(a.code, a.language),
  interp_install: async (c, a) => ({ output: await box(c, a.id).interpreter.install(a.packages, a.manager) }),
  interp_kernels: (c, a) => box(c, a.id).interpreter.kernels(),
  context_create: (c, { id, ...rest }) => box(c, id).interpreter.contexts.create(rest),
  context_list: async (c, a) => ({ contexts: await box(c, a.id).interpreter.contexts.list() }),
  context_get: (c, a) => box(c, a.id).interpreter.contexts.get(a.contextId),
  context_execute: (c, a) => box(c, a.id).interpreter.contexts.run(a.contextId, a.code, a.timeout),
  context_execute_stream: (c, a) => box(c, a.id).interpreter.contexts.runStream(a.contextId, a.code, a.timeout),
  context_interrupt: (c, a) => box(c, a.id).interpreter.contexts.interrupt(a.contextId),
  context_restart: (c, a) => box(c, a.id).interpreter.contexts.restart(a.contextId),
  context_delete: (c, a) => box(c, a.id).interpreter.contexts.delete(a.contextId),
};

const inside = {
  fs_read: (c, a) => box(c, a.id).filesystem.read(a.path),
  fs_write: (c, a) => box(c, a.id).filesystem.write(a.path, a.content),
  fs_delete: (c, a) => box(c, a.id).filesystem.delete(a.path),
  fs_list: (c, a) => box(c, a.id).filesystem.list(a.path),
  fs_search: (c, a) => box(c, a.id).filesystem.search(a.pattern, a.dir),
  fs_upload: (c, a) => box(c, a.id).filesystem.upload(a.path, a.content),
  fs_download: (c, a) => box(c, a.id).filesystem.download(a.path),
  fs_info: (c, a) => box(c, a.id).filesystem.info(a.paths ?? a.path),
  fs_move: (c, a) => box(c, a.id).filesystem.move(a.moves),
  fs_mkdir: (c, a) => box(c, a.id).filesystem.mkdir(a.paths ?? a.path),
  fs_rmdir: (c, a) => box(c, a.id).filesystem.rmdir(a.paths ?? a.path),
  fs_chmod: (c, a) => box(c, a.id).filesystem.chmod(a.path, a.mode),
  env_get: (c, a) => box(c, a.id).env.get(a.key),
  env_set: (c, a) => box(c, a.id).env.set(a.vars),
  env_list: (c, a) => box(c, a.id).env.list(),
  env_delete: (c, a) => box(c, a.id).env.delete(a.key),
  proc_list: (c, a) => box(c, a.id).processes.list(),
  proc_top: (c, a) => box(c, a.id).processes.top(),
  proc_kill: (c, a) => box(c, a.id).processes.kill(a.pid, a.signal),
  git_clone: (c, { id, url, ...rest }) => box(c, id).git.clone(url, rest),
  git_status: (c, a) => box(c, a.id).git.status(a.path),
  git_commit: (c, { id, message, ...rest }) => box(c, id).git.commit(message, rest),
  git_diff: (c, { id, ...rest }) => box(c, id).git.diff(rest),
  git_log: (c, { id, ...rest }) => box(c, id).git.log(rest),
  git_branch: (c, { id, ...rest }) => box(c, id).git.branch(rest),
  git_checkout: (c, a) => box(c, a.id).git.checkout(a.ref, a.path),
  git_push: (c, { id, ...rest }) => box(c, id).git.push(rest),
  git_pull: (c, { id, ...rest }) => box(c, id).git.pull(rest),
};

const reach = {
  port_expose: (c, a) => box(c, a.id).ports.expose(a.containerPort, a.hostPort, a.protocol),
  port_list: (c, a) => box(c, a.id).ports.list(),
  port_unexpose: (c, a) => box(c, a.id).ports.unexpose(a.containerPort),
  proxy_request: (c, { id, port, ...rest }) => box(c, id).proxy.request(port, rest),
  proxy_config: (c, { id, ...rest }) => box(c, id).proxy.config(rest),
  terminal_create: (c, { id, ...rest }) => box(c, id).terminal.create(rest),
  terminal_resize: (c, a) => box(c, a.id).terminal.resize(a.sessionId, a.cols, a.rows),
  terminal_close: (c, a) => box(c, a.id).terminal.close(a.sessionId),
  terminal_talk: async (c, a) => {
    const terminal = await box(c, a.id).terminal.open();
    try {
      terminal.write(a.input);
      return { found: (await terminal.readUntil(a.until)) !== undefined };
    } finally {
      await terminal.close();
    }
  },
  stream_logs: (c, a) => box(c, a.id).streams.logs({ tail: a.tail, follow: a.follow }),
  stream_metrics: (c, a) => box(c, a.id).streams.metrics(a.interval),
  alert_set: (c, a) => box(c, a.id).monitor.setAlert(a.metric, a.threshold, a.action),
  alert_list: (c, a) => box(c, a.id).monitor.listAlerts(),
  alert_delete: (c, a) => box(c, "").monitor.deleteAlert(a.alertId),
  alert_history: (c, a) => box(c, a.id).monitor.history(a.limit),
  egress_get: (c, a) => box(c, a.id).egress.get(),
  egress_set: (c, { id, ...rest }) => box(c, id).egress.set(rest),
};

const server = {
  template_create: (c, a) => c.templates.create(a.name, a.config, a.description),
  template_list: async (c) => ({ templates: await c.templates.list() }),
  template_get: (c, a) => c.templates.get(a.id),
  template_delete: (c, a) => c.templates.delete(a.id),
  image_list: async (c) => ({ images: await c.images.list() }),
  image_pull: (c, a, stream) => (stream ? c.images.pullStream(a.image) : c.images.pull(a.image)),
  image_delete: (c, a) => c.images.delete(a.name),
  image_delete_query: (c, a) => c.images.deleteNamed(a.name),
  metrics_global: (c) => c.admin.metrics(),
  health: (c) => c.admin.health(),
  pool_status: (c) => c.admin.poolStatus(),
  ttl_sweep: (c) => c.admin.sweep(),
  openapi: (c) => c.admin.openapi(),
  worker_list: (c) => c.admin.workers(),
  worker_select: (c) => c.admin.selectWorker(),
  worker_reap: (c) => c.admin.reapWorkers(),
  worker_migrate: (c) => c.admin.migrateWorkers(),
  worker_heartbeat: (c) => c.admin.heartbeat(),
  token_create: (c, { name, ...rest }) => c.tokens.create(name, rest),
  token_list: async (c) => ({ tokens: await c.tokens.list() }),
  token_get: (c, a) => c.tokens.get(a.tokenId),
  token_revoke: (c, a) => c.tokens.revoke(a.tokenId),
  token_rotate: (c, a) => c.tokens.rotate(a.tokenId),
  event_history: (c, a) => c.events.history(a),
  event_publish: (c, a) => c.events.publish(a.topic, a.sandboxId, a.data),
  stream_events: (c, a) => c.events.stream(a.topic),
  observability_traces: (c, a) => c.observability.traces(a),
  observability_metrics: (c) => c.observability.metrics(),
  observability_clear: (c, a) => c.observability.clear(a.before),
  network_create: (c, a) => c.networks.create(a.name, a.driver),
  network_list: (c) => c.networks.list(),
  network_connect: (c, a) => c.networks.connect(a.networkId, a.sandboxId),
  network_disconnect: (c, a) => c.networks.disconnect(a.networkId, a.sandboxId),
  network_delete: (c, a) => c.networks.delete(a.networkId),
  volume_create: (c, a) => c.volumes.create(a.name, a.driver),
  volume_list: (c) => c.volumes.list(),
  volume_delete: (c, a) => c.volumes.delete(a.volumeId),
  volume_attach: (c, a) => c.volumes.attach(a.volumeId, a.sandboxId, a.mountPath, { readOnly: a.readOnly }),
  volume_detach: (c, a) => c.volumes.detach(a.volumeId),
};

const calls = { ...lifecycle, ...commands, ...inside, ...reach, ...server };

async function collect(events, take) {
  const found = [];
  for await (const event of events) {
    found.push(event);
    if (found.length === take) break;
  }
  return found;
}

async function answer({ op, args, take, token, stream }) {
  if (op === "operations") return { ok: Object.keys(calls) };
  const client = new Client({ baseUrl, token: token ?? process.env.III_TOKEN });
  try {
    const result = await calls[op](client, args, stream);
    return { ok: (result?.[Symbol.asyncIterator] ? await collect(result, take) : result) ?? null };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { error: { code: error.code, status: error.status, message: error.reason } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
