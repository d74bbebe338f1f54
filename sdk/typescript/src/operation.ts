/** One row of the server's table: where its fields go, and how a client has to treat it. */
export interface Operation {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** With the names of its path fields in braces. */
  readonly path: string;
  readonly query: readonly string[];
  readonly body: readonly string[];
  /** Whether it answers with server-sent events. */
  readonly stream: "never" | "always" | "asked";
  /** It takes as long as its work takes: no deadline of ours. */
  readonly long: boolean;
  /** It changes nothing, so it may be repeated. */
  readonly safe: boolean;
  /** With an Idempotency-Key it may be repeated, too. */
  readonly idempotencyKey: boolean;
}
