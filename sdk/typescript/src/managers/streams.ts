import type { CallOptions } from "../http.js";
import type { Api } from "../generated/api.js";
import { upTo } from "../last.js";
import type { LogEvent, SandboxMetrics } from "../generated/types.js";

/** What a sandbox prints and uses, as it happens. */
export class StreamManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  /** Output of the sandbox's main process, line by line; the last event is `end`. */
  logs(options: { tail?: number; follow?: boolean } & CallOptions = {}): AsyncGenerator<LogEvent, void, undefined> {
    const { tail, follow, ...rest } = options;
    return upTo(this.api.streamLogs({ id: this.id, tail, follow }, rest), "end");
  }

  /** Resource use every `interval` seconds, until the sandbox is gone. */
  metrics(interval?: number, options?: CallOptions): AsyncGenerator<SandboxMetrics, void, undefined> {
    return this.api.streamMetrics({ id: this.id, interval }, options);
  }
}
