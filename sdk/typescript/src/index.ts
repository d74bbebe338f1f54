export {
  Client,
  DEFAULT_IMAGE,
  createSandbox,
  getSandbox,
  listSandboxes,
  listTemplates,
  type SandboxCreateOptions,
} from "./client.js";
export { Sandbox, type ExecOptions } from "./sandbox.js";
export { HttpClient, type CallOptions, type ClientConfig } from "./http.js";
export { ApiError, ConnectionError, RequestTimeoutError, SandboxError, type ApiFailure } from "./errors.js";
export * from "./generated/errors.js";
export type * from "./generated/types.js";
export { Api } from "./generated/api.js";
export { operations, type OperationName } from "./generated/operations.js";
export type { Operation } from "./operation.js";
export { BackgroundManager, DurableManager } from "./managers/commands.js";
export { EgressManager } from "./managers/egress.js";
export { EnvManager } from "./managers/env.js";
export { FilesystemManager } from "./managers/filesystem.js";
export { GitManager } from "./managers/git.js";
export { ContextManager, InterpreterManager } from "./managers/interpreter.js";
export { MonitorManager } from "./managers/monitor.js";
export { PortManager, ProxyManager } from "./managers/ports.js";
export { ProcessManager } from "./managers/processes.js";
export { QueueManager } from "./managers/queue.js";
export {
  AdminClient,
  EventManager,
  ImageManager,
  NetworkManager,
  ObservabilityClient,
  SnapshotManager,
  TemplateManager,
  TokenManager,
  VolumeManager,
} from "./managers/server.js";
export { StreamManager } from "./managers/streams.js";
export { TerminalManager, type TerminalOptions } from "./managers/terminal.js";
export { LiveTerminal, type TerminalEnd } from "./live-terminal.js";
