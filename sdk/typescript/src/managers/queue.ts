import type { CallOptions } from "../http.js";
import type { Api } from "../generated/api.js";
import type { QueueCancelled, QueueJobInfo, QueueJobPage } from "../generated/types.js";

/** Queued commands with retries and a dead-letter list. */
export class QueueManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  submit(
    command: string | string[],
    options: { maxRetries?: number; timeout?: number } & CallOptions = {},
  ): Promise<QueueJobInfo> {
    const { signal, timeoutMs, idempotencyKey, ...fields } = options;
    return this.api.queueSubmit({ id: this.id, command, ...fields }, { signal, timeoutMs, idempotencyKey });
  }

  status(jobId: string): Promise<QueueJobInfo> {
    return this.api.queueStatus({ jobId });
  }

  cancel(jobId: string): Promise<QueueCancelled> {
    return this.api.queueCancel({ jobId });
  }

  /** Tries a command again that failed for good. */
  retry(jobId: string): Promise<QueueJobInfo> {
    return this.api.queueRetry({ jobId });
  }

  /** Commands that failed for good. */
  dlq(limit?: number, offset?: number): Promise<QueueJobPage> {
    return this.api.queueDlq({ limit, offset });
  }
}
