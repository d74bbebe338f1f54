export {
  Client,
  createSandbox,
  getSandbox,
  listSandboxes,
  listTemplates,
  type SandboxCreateOptions,
} from "./client.js";
export { Sandbox, type CreateOptions, type KeepOptions, type RunCodeOptions } from "./sandbox.js";
export type { CommandOptions, ExecOptions } from "./command.js";
export { CodeError, Execution } from "./code.js";
export { agentTools, aiTools, type AgentTool } from "./agent-tools.js";
export { HttpClient, type CallOptions } from "./http.js";
export type { ClientConfig } from "./settings.js";
export {
  ApiError,
  CodeFailedError,
  CommandFailedError,
  ConnectionError,
  RequestTimeoutError,
  SandboxError,
  type ApiFailure,
} from "./errors.js";
export * from "./generated/errors.js";
export type * from "./generated/types.js";
export { Api } from "./generated/api.js";
export { operations, type OperationName } from "./generated/operations.js";
export type { Operation } from "./operation.js";
export {
  AdminClient,
  BackgroundManager,
  ContextManager,
  DurableManager,
  EgressManager,
  EnvManager,
  EventManager,
  GitManager,
  ImageManager,
  MonitorManager,
  NetworkManager,
  ObservabilityClient,
  ProcessManager,
  ProxyManager,
  QueueManager,
  ServiceManager,
  SnapshotManager,
  StreamManager,
  TemplateManager,
  TokenManager,
  VolumeManager,
  WebhookManager,
} from "./generated/managers.js";
export { FilesystemManager } from "./managers/filesystem.js";
export { InterpreterManager } from "./managers/interpreter.js";
export { PortManager } from "./managers/ports.js";
export { TerminalManager, type TerminalOptions } from "./managers/terminal.js";
export { LiveTerminal, type TerminalEnd } from "./live-terminal.js";
