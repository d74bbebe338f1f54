import type { CallOptions } from "../http.js";
import type { Api } from "../generated/api.js";
import { upTo } from "../last.js";
import type {
  BackgroundExec,
  BackgroundLogs,
  DurableExec,
  ExecOutput,
  ExecOutputEvent,
  ExecOutputParams,
  ExecSignalParams,
  ExecSignalled,
  ExecStartParams,
  ExecWritten,
} from "../generated/types.js";

/** Commands in the background, with one log of their output. */
export class BackgroundManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  start(command: string | string[], options?: CallOptions): Promise<BackgroundExec> {
    return this.api.cmdBackground({ id: this.id, command }, options);
  }

  status(backgroundId: string): Promise<BackgroundExec> {
    return this.api.cmdBackgroundStatus({ id: backgroundId });
  }

  /** Output from a byte offset on, and the offset to ask for next. */
  logs(backgroundId: string, cursor?: number): Promise<BackgroundLogs> {
    return this.api.cmdBackgroundLogs({ id: backgroundId, cursor });
  }
}

/** Commands that outlive their connection and the server: followed, fed and signalled by their id. */
export class DurableManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  start(
    command: string | string[],
    options: Omit<ExecStartParams, "id" | "command"> & CallOptions = {},
  ): Promise<DurableExec> {
    const { signal, timeoutMs, idempotencyKey, ...fields } = options;
    return this.api.execStart({ id: this.id, command, ...fields }, { signal, timeoutMs, idempotencyKey });
  }

  async list(): Promise<DurableExec[]> {
    return (await this.api.execList({ id: this.id })).execs;
  }

  get(execId: string): Promise<DurableExec> {
    return this.api.execGet({ execId });
  }

  output(execId: string, options: Pick<ExecOutputParams, "offset" | "encoding"> = {}): Promise<ExecOutput> {
    return this.api.execOutput({ execId, ...options });
  }

  /** Output as it comes; the last event is `exit`. After a broken connection go on from the last event's `offset`. */
  follow(
    execId: string,
    options: Pick<ExecOutputParams, "offset" | "encoding"> & CallOptions = {},
  ): AsyncGenerator<ExecOutputEvent, void, undefined> {
    const { signal, timeoutMs, ...fields } = options;
    return upTo(this.api.execOutputStream({ execId, follow: true, ...fields }, { signal, timeoutMs }), "exit");
  }

  /** Writes to its standard input; `close` ends it. */
  input(
    execId: string,
    data?: string,
    options: { encoding?: "utf8" | "base64"; close?: boolean } = {},
  ): Promise<ExecWritten> {
    return this.api.execInput({ execId, data, ...options });
  }

  signal(execId: string, signal?: ExecSignalParams["signal"]): Promise<ExecSignalled> {
    return this.api.execSignal({ execId, signal });
  }
}
