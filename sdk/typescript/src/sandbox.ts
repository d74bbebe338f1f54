import "./dispose.js";
import { ApiError } from "./errors.js";
import { Api } from "./generated/api.js";
import {
  BackgroundManager,
  DurableManager,
  EgressManager,
  EnvManager,
  GitManager,
  MonitorManager,
  ProcessManager,
  ProxyManager,
  QueueManager,
  SandboxMethods,
  StreamManager,
} from "./generated/managers.js";
import type { ExecResult, SandboxInfo } from "./generated/types.js";
import type { CallOptions, HttpClient } from "./http.js";
import { FilesystemManager } from "./managers/filesystem.js";
import { InterpreterManager } from "./managers/interpreter.js";
import { PortManager } from "./managers/ports.js";
import { TerminalManager } from "./managers/terminal.js";

export interface ExecOptions extends CallOptions {
  /** Seconds; the server's maximum when absent. */
  timeout?: number;
  /** Working folder of the command. */
  cwd?: string;
}

/** One sandbox. `await using box = await createSandbox()` kills it at the end of the block. */
export class Sandbox extends SandboxMethods {
  readonly background: BackgroundManager;
  readonly durable: DurableManager;
  readonly egress: EgressManager;
  readonly env: EnvManager;
  readonly filesystem: FilesystemManager;
  readonly git: GitManager;
  readonly interpreter: InterpreterManager;
  readonly monitor: MonitorManager;
  readonly ports: PortManager;
  readonly processes: ProcessManager;
  readonly proxy: ProxyManager;
  readonly queue: QueueManager;
  readonly streams: StreamManager;
  readonly terminal: TerminalManager;
  protected readonly api: Api;

  constructor(
    http: HttpClient,
    /** As of the last create, get, refresh, pause, resume or renew. */
    public info: SandboxInfo,
  ) {
    super();
    const api = new Api(http);
    this.api = api;
    this.background = new BackgroundManager(api, info.id);
    this.durable = new DurableManager(api, info.id);
    this.egress = new EgressManager(api, info.id);
    this.env = new EnvManager(api, info.id);
    this.filesystem = new FilesystemManager(api, info.id);
    this.git = new GitManager(api, info.id);
    this.interpreter = new InterpreterManager(api, info.id);
    this.monitor = new MonitorManager(api, info.id);
    this.ports = new PortManager(api, info.id);
    this.processes = new ProcessManager(api, info.id);
    this.proxy = new ProxyManager(api, info.id);
    this.queue = new QueueManager(api, info.id);
    this.streams = new StreamManager(api, info.id);
    this.terminal = new TerminalManager(api, info.id);
  }

  get id(): string {
    return this.info.id;
  }

  get status(): SandboxInfo["status"] {
    return this.info.status;
  }

  /** Runs a command and waits for its end; a list of words runs without a shell. The second argument may be the timeout in seconds. */
  exec(command: string | string[], options: number | ExecOptions = {}): Promise<ExecResult> {
    const { timeout, cwd, ...rest } = typeof options === "number" ? { timeout: options } : options;
    return this.api.cmdRun({ id: this.id, command, timeout, cwd }, rest);
  }

  /** Reads `info` anew. */
  async refresh(): Promise<SandboxInfo> {
    return (this.info = await this.api.sandboxGet({ id: this.id }));
  }

  /** Kills the sandbox; one that is gone already is no error. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "not_found")) throw error;
    }
  }
}
