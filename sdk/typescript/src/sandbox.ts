import "./dispose.js";
import { ApiError } from "./errors.js";
import { Api } from "./generated/api.js";
import type {
  ExecResult,
  ExecStreamChunk,
  SandboxFork,
  SandboxInfo,
  SandboxMetrics,
  SnapshotInfo,
  SnapshotList,
  Success,
} from "./generated/types.js";
import type { CallOptions, HttpClient } from "./http.js";
import { upTo } from "./last.js";
import { BackgroundManager, DurableManager } from "./managers/commands.js";
import { EgressManager } from "./managers/egress.js";
import { EnvManager } from "./managers/env.js";
import { FilesystemManager } from "./managers/filesystem.js";
import { GitManager } from "./managers/git.js";
import { InterpreterManager } from "./managers/interpreter.js";
import { MonitorManager } from "./managers/monitor.js";
import { PortManager, ProxyManager } from "./managers/ports.js";
import { ProcessManager } from "./managers/processes.js";
import { QueueManager } from "./managers/queue.js";
import { StreamManager } from "./managers/streams.js";
import { TerminalManager } from "./managers/terminal.js";

export interface ExecOptions extends CallOptions {
  /** Seconds; the server's maximum when absent. */
  timeout?: number;
  /** Working folder of the command. */
  cwd?: string;
}

/** One sandbox. `await using box = await createSandbox()` kills it at the end of the block. */
export class Sandbox {
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
  private readonly api: Api;

  constructor(
    http: HttpClient,
    /** As of the last create, get, refresh, pause, resume or renew. */
    public info: SandboxInfo,
  ) {
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

  /** Runs a command and gives its output as it comes; the last event is `exit`. Leaving the loop ends the command. */
  execStream(command: string | string[], options: ExecOptions = {}): AsyncGenerator<ExecStreamChunk, void, undefined> {
    const { timeout, cwd, ...rest } = options;
    return upTo(this.api.cmdRunStream({ id: this.id, command, timeout, cwd }, rest), "exit");
  }

  /** SIGINT to one process, or to every running command. */
  interrupt(pid?: number): Promise<Success> {
    return this.api.cmdInterrupt({ id: this.id, pid });
  }

  /** A new sandbox with the files and configuration of this one. */
  clone(name?: string, options?: CallOptions): Promise<SandboxInfo> {
    return this.api.sandboxClone({ id: this.id, name }, options);
  }

  /** Several at once. */
  fork(options: { count?: number; name?: string } & CallOptions = {}): Promise<SandboxFork> {
    const { count, name, ...rest } = options;
    return this.api.sandboxFork({ id: this.id, count, name }, rest);
  }

  async pause(): Promise<SandboxInfo> {
    return (this.info = await this.api.sandboxPause({ id: this.id }));
  }

  async resume(): Promise<SandboxInfo> {
    return (this.info = await this.api.sandboxResume({ id: this.id }));
  }

  /** Sets the time of expiry, in milliseconds since the epoch. */
  async renew(expiresAt: number): Promise<SandboxInfo> {
    return (this.info = await this.api.sandboxRenew({ id: this.id, expiresAt }));
  }

  kill(): Promise<Success> {
    return this.api.sandboxKill({ id: this.id });
  }

  metrics(): Promise<SandboxMetrics> {
    return this.api.metricsSandbox({ id: this.id });
  }

  snapshot(name?: string): Promise<SnapshotInfo> {
    return this.api.snapshotCreate({ id: this.id, name });
  }

  restore(snapshotId: string): Promise<SandboxInfo> {
    return this.api.snapshotRestore({ id: this.id, snapshotId });
  }

  listSnapshots(): Promise<SnapshotList> {
    return this.api.snapshotList({ id: this.id });
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
