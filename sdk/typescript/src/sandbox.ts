import "./dispose.js";
import { CONTEXT_LANGUAGES, Execution } from "./code.js";
import { Collected, placed, shown, type CommandOptions, type ExecOptions } from "./command.js";
import { succeeded } from "./errors.js";
import { Api } from "./generated/api.js";
import { NotFoundError, TimedOutError } from "./generated/errors.js";
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
  ServiceManager,
  StreamManager,
} from "./generated/managers.js";
import type {
  Context,
  ExecResult,
  ExecStreamChunk,
  RichResult,
  SandboxCreateParams,
  SandboxInfo,
  SandboxListParams,
} from "./generated/types.js";
import { HttpClient, type CallOptions } from "./http.js";
import { upTo } from "./last.js";
import { FilesystemManager } from "./managers/filesystem.js";
import { InterpreterManager } from "./managers/interpreter.js";
import { PortManager } from "./managers/ports.js";
import { TerminalManager } from "./managers/terminal.js";
import { split, type ClientConfig } from "./settings.js";

/** Whether the end of a block with `await using` leaves the sandbox; otherwise it kills it. */
export interface KeepOptions {
  keep?: boolean;
}

export type CreateOptions = SandboxCreateParams & ClientConfig & KeepOptions;

export interface RunCodeOptions {
  /** `python` (default) or `javascript`, whose variables live on; `typescript`, `go` and `bash` run in a fresh interpreter. */
  language?: string;
  /** Another context than the sandbox's default one of the language. */
  context?: string | Context;
  /** Seconds. */
  timeout?: number;
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
  onResult?: (result: RichResult) => unknown;
  /** Throws a CodeFailedError when the code raises an error. */
  check?: boolean;
  signal?: AbortSignal;
}

/**
 * One sandbox; it has the members of its record. `await using box = await Sandbox.create()` kills it at the end of the block; one that
 * was connected to is left running.
 */
export class Sandbox extends SandboxMethods implements SandboxInfo {
  readonly background: BackgroundManager;
  readonly durable: DurableManager;
  readonly egress: EgressManager;
  readonly env: EnvManager;
  readonly files: FilesystemManager;
  readonly filesystem: FilesystemManager;
  readonly git: GitManager;
  readonly interpreter: InterpreterManager;
  readonly monitor: MonitorManager;
  readonly ports: PortManager;
  readonly processes: ProcessManager;
  readonly proxy: ProxyManager;
  readonly queue: QueueManager;
  readonly service: ServiceManager;
  readonly streams: StreamManager;
  readonly terminal: TerminalManager;
  protected readonly api: Api;

  constructor(
    private readonly http: HttpClient,
    /** As of the last create, connect, refresh, pause, resume or renew. */
    public info: SandboxInfo,
    private readonly keep: boolean = false,
  ) {
    super();
    const api = new Api(http);
    this.api = api;
    this.background = new BackgroundManager(api, info.id);
    this.durable = new DurableManager(api, info.id);
    this.egress = new EgressManager(api, info.id);
    this.env = new EnvManager(api, info.id);
    this.files = this.filesystem = new FilesystemManager(api, info.id);
    this.git = new GitManager(api, info.id);
    this.interpreter = new InterpreterManager(api, info.id);
    this.monitor = new MonitorManager(api, info.id);
    this.ports = new PortManager(api, info.id);
    this.processes = new ProcessManager(api, info.id);
    this.proxy = new ProxyManager(api, info.id);
    this.queue = new QueueManager(api, info.id);
    this.service = new ServiceManager(api, info.id);
    this.streams = new StreamManager(api, info.id);
    this.terminal = new TerminalManager(api, info.id);
  }

  // --- how it is opened ---

  /** A new sandbox; without image and template, of the server's default image (python). */
  static create(image: string, options?: CreateOptions): Promise<Sandbox>;
  static create(options?: CreateOptions): Promise<Sandbox>;
  static async create(first: string | CreateOptions = {}, more: CreateOptions = {}): Promise<Sandbox> {
    const [config, { keep, ...fields }] = split<CreateOptions>(typeof first === "string" ? { ...more, image: first } : first);
    const http = new HttpClient(config);
    return new Sandbox(http, await new Api(http).sandboxCreate(fields), keep);
  }

  /** The sandbox with this id or name. */
  static async connect(id: string, options: ClientConfig & KeepOptions = {}): Promise<Sandbox> {
    const http = new HttpClient(options);
    return new Sandbox(http, await new Api(http).sandboxGet({ id }), options.keep ?? true);
  }

  /** The sandbox of this name, awake if it was paused or stopped; or a new one. However many ask at once, all get the same. */
  static async connectOrCreate(name: string, options: Omit<CreateOptions, "name" | "ifExists"> = {}): Promise<Sandbox> {
    const [config, { keep, ...fields }] = split<CreateOptions>(options);
    const http = new HttpClient(config);
    const box = new Sandbox(http, await new Api(http).sandboxCreate({ ...fields, name, ifExists: "connect" }), keep ?? true);
    if (box.status !== "running") await box.start();
    return box;
  }

  /** A new sandbox as a snapshot has it. */
  static async fromSnapshot(snapshotId: string, options: { name?: string } & ClientConfig & KeepOptions = {}): Promise<Sandbox> {
    const http = new HttpClient(options);
    return new Sandbox(http, await new Api(http).snapshotClone({ snapshotId, name: options.name }), options.keep);
  }

  /** All sandboxes that match; with `page` those of one page. */
  static async list(options: SandboxListParams & ClientConfig = {}): Promise<Sandbox[]> {
    const [config, filters] = split<SandboxListParams & ClientConfig>(options);
    const http = new HttpClient(config);
    const found: SandboxInfo[] = [];
    for (let page = filters.page ?? 1; ; page++) {
      const { items, total } = await new Api(http).sandboxList({ ...filters, page });
      found.push(...items);
      if (filters.page !== undefined || items.length === 0 || found.length >= total) break;
    }
    return found.map((info) => new Sandbox(http, info, true));
  }

  // --- what it is ---

  /** Reads `info` anew. */
  async refresh(): Promise<SandboxInfo> {
    return (this.info = await this.api.sandboxGet({ id: this.id }));
  }

  toJSON(): SandboxInfo {
    return this.info;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Sandbox ${this.id} ${JSON.stringify(this.name)} ${this.status} at ${this.http.getBaseUrl()}`;
  }

  // --- commands and code ---

  /** Run a command and stream its output; the last event is `exit`, with the exit code in `data`. */
  execStream(command: string | string[], options: CommandOptions = {}): AsyncGenerator<ExecStreamChunk, void, undefined> {
    const { fields, call } = placed(options);
    return upTo(this.api.cmdRunStream({ id: this.id, command, ...fields }, call), "exit");
  }

  /**
   * Run a command and wait for it; a list runs without a shell. After `timeout` seconds (which may be the second argument) a TimedOutError
   * is thrown, with the output so far in its `result`.
   */
  async exec(command: string | string[], options: number | ExecOptions = {}): Promise<ExecResult> {
    const { onStdout, onStderr, check, ...rest } = typeof options === "number" ? ({ timeout: options } as ExecOptions) : options;
    let result: ExecResult;
    if (onStdout || onStderr) {
      result = await this.execWatched(this.execStream(command, rest), onStdout, onStderr);
    } else {
      const { fields, call } = placed(rest);
      result = await this.api.cmdRun({ id: this.id, command, ...fields }, call);
    }
    return check ? succeeded(shown(command), result) : result;
  }

  private async execWatched(
    chunks: AsyncIterable<ExecStreamChunk>,
    onStdout: ExecOptions["onStdout"],
    onStderr: ExecOptions["onStderr"],
  ): Promise<ExecResult> {
    const collected = new Collected();
    for await (const chunk of chunks) {
      collected.take(chunk);
      if (chunk.type === "stdout") await onStdout?.(chunk.data ?? "");
      if (chunk.type === "stderr") await onStderr?.(chunk.data ?? "");
    }
    const result = collected.result();
    if (!result.timedOut) return result;
    const reason = `command timed out after ${result.duration} ms; its processes were killed`;
    const path = `/sandbox/sandboxes/${this.id}/exec/stream`;
    const address = this.http.getBaseUrl();
    throw new TimedOutError({ method: "STREAM", path, status: 504, code: "timed_out", reason, address, result });
  }

  /**
   * Run code where the variables of earlier calls still are: in a context, or in the sandbox's default one of the language, which may be
   * the second argument.
   */
  async runCode(code: string, options: string | RunCodeOptions = {}): Promise<Execution> {
    const given = typeof options === "string" ? { language: options } : options;
    const { language = "python", context, timeout, onStdout, onStderr, onResult, check, signal }: RunCodeOptions = given;
    const contextId = typeof context === "string" ? context : (context?.id ?? language);
    let done: Execution;
    if (context === undefined && !CONTEXT_LANGUAGES.includes(language)) {
      type Language = Parameters<Api["interpExecute"]>[0]["language"];
      done = Execution.ofFresh(await this.api.interpExecute({ id: this.id, code, language: language as Language }, { signal }));
      if (done.stdout) await onStdout?.(done.stdout);
    } else if (onStdout || onStderr || onResult) {
      done = new Execution();
      for await (const event of upTo(this.api.contextExecuteStream({ id: this.id, contextId, code, timeout }, { signal }), "end")) {
        done.take(event);
        if (event.type === "stdout") await onStdout?.(event.data ?? "");
        if (event.type === "stderr") await onStderr?.(event.data ?? "");
        if (event.type === "result" && event.result) await onResult?.(event.result);
      }
    } else {
      done = Execution.of(await this.api.contextExecute({ id: this.id, contextId, code, timeout }, { signal }));
    }
    return check ? done.check() : done;
  }

  // --- copies, and what is reached from outside ---

  /** A new sandbox with the files and configuration of this one. */
  async clone(name?: string, options?: CallOptions): Promise<Sandbox> {
    return new Sandbox(this.http, await this.api.sandboxClone({ id: this.id, name }, options));
  }

  /** A new sandbox with the files of this one as they are now (and its processes, where the backend can); with a count, a list of as many. */
  fork(options: { count: number; name?: string } & CallOptions): Promise<Sandbox[]>;
  fork(options?: { name?: string } & CallOptions): Promise<Sandbox>;
  async fork(options: { count?: number; name?: string } & CallOptions = {}): Promise<Sandbox | Sandbox[]> {
    const { count, name, ...call } = options;
    const { sandboxes } = await this.api.sandboxFork({ id: this.id, count, name }, call);
    const boxes = sandboxes.map((info) => new Sandbox(this.http, info));
    return count === undefined ? boxes[0]! : boxes;
  }

  /** A link that opens the HTTP server on this port of the sandbox in a browser: an origin of its own. On a server with tokens it works once, until `ttl`
   * seconds are over, and becomes a cookie of that browser; `public`: for everyone who has it. Programs may send their token to the address of
   * `ports.preview()` instead. */
  async getUrl(port: number, options: { public?: boolean; rewriteHost?: boolean; ttl?: number } = {}): Promise<string> {
    const preview = await this.ports.preview(port, options);
    return preview.public ? preview.url : (preview.signedUrl ?? preview.url);
  }

  // --- its end ---

  /** Kills the sandbox, unless it is to be kept; one that is gone already is no error. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.keep) return;
    await this.kill().catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
    });
  }
}
