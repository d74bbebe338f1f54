import { ApiError, ConnectionError, RequestTimeoutError, SandboxError } from "./errors.js";
import { errorsByStatus, statusByCode, type ErrorCode } from "./generated/errors.js";
import type { ExecResult } from "./generated/types.js";
import type { Operation } from "./operation.js";
import { settled, type ClientConfig } from "./settings.js";
import { eventData } from "./sse.js";

export interface CallOptions {
  /** Ends the call, or the stream. */
  signal?: AbortSignal;
  /** Deadline of this request; 0 is none. */
  timeoutMs?: number;
  /** The same request with the same key is carried out once: with a key, creates and commands are retried, too. */
  idempotencyKey?: string;
}

type Fields = object;

interface Request {
  readonly verb: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly accept: string;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly options: CallOptions;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 2;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
const EVENTS = "text/event-stream";

/** Aborts after a time or with the caller's signal; says which it was. */
class Deadline {
  readonly controller = new AbortController();
  timedOut = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly onAbort = () => this.controller.abort(this.outer?.reason);

  constructor(
    ms: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    if (ms > 0) {
      this.timer = setTimeout(() => {
        this.timedOut = true;
        this.controller.abort();
      }, ms);
    }
    if (outer?.aborted) this.onAbort();
    outer?.addEventListener("abort", this.onAbort);
  }

  /** The answer has begun: only the caller may end it now. */
  lift(): void {
    clearTimeout(this.timer);
  }

  done(): void {
    this.lift();
    this.outer?.removeEventListener("abort", this.onAbort);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function queryText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Path and body of a call; throws when a part of the path is missing. */
function place(op: Operation, fields: Record<string, unknown>): { path: string; body: Record<string, unknown> | undefined } {
  let path = op.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = fields[name];
    if (value === undefined || value === null || value === "") throw new SandboxError(`${op.name}: ${name} is missing`);
    return encodeURIComponent(String(value));
  });
  const given = (name: string) => fields[name] !== undefined && fields[name] !== null;
  const query = new URLSearchParams();
  for (const name of op.query) if (given(name)) query.set(name, queryText(fields[name]));
  if (query.size > 0) path += `?${query}`;
  const body: Record<string, unknown> = {};
  for (const name of op.body) if (given(name)) body[name] = fields[name];
  return { path, body: op.method === "POST" || op.method === "PUT" ? body : undefined };
}

function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds * 1000, FIRST_PAUSE_MS), LONGEST_PAUSE_MS) : undefined;
}

interface ErrorBody {
  error?: unknown;
  fix?: unknown;
  result?: ExecResult;
}

function bodyOf(text: string): ErrorBody {
  try {
    return (JSON.parse(text) ?? {}) as ErrorBody;
  } catch {
    return {}; // some proxy in between answered, and its text is the reason
  }
}

function failureOf(address: string, verb: string, path: string, status: number, text: string): ApiError {
  const { error, fix, result } = bodyOf(text);
  const known = errorsByStatus[status];
  const reason = typeof error === "string" ? error : text;
  const failure = { method: verb, path, status, code: known?.code ?? `http_${status}`, reason, address, fix, result };
  return known ? new known.make(failure) : new ApiError(failure);
}

/** An event that says why the stream ends; one that only reports an error of the user's code has no `error` text. */
function streamFailure(address: string, path: string, event: unknown): ApiError | undefined {
  const { type, error, code } = (event ?? {}) as { type?: unknown; error?: unknown; code?: unknown };
  if (type !== "error" || typeof error !== "string") return undefined;
  const status = statusByCode[code as ErrorCode] ?? 500;
  const make = errorsByStatus[status]?.make ?? ApiError;
  return new make({ method: "STREAM", path, status, code: typeof code === "string" ? code : "internal", reason: error, address });
}

/** Why a fetch failed, and what to do about it. */
function lossOf(address: string, error: unknown): string {
  const cause = (error as { cause?: { code?: string; message?: string } })?.cause;
  const why = cause?.message || cause?.code || (error as Error)?.message;
  if (cause?.code === "ECONNREFUSED") {
    return `no server at ${address}: start one with \`iii serve\`, or set III_SANDBOX_URL (${why || "connection refused"})`;
  }
  if (/CERT|SIGNATURE/.test(cause?.code ?? "")) return `TLS failed: ${why}; NODE_EXTRA_CA_CERTS names the certificates to verify with`;
  return why;
}

/** Requests, retries and errors; every class of this package sends through one of these. */
export class HttpClient {
  readonly #token: string | undefined; // not where console.log and JSON.stringify look
  private readonly baseUrl: string;
  private readonly timeoutMs: number;
  private readonly maxRetries: number;
  private readonly send: typeof fetch;

  constructor(config: ClientConfig = {}) {
    const { baseUrl, token } = settled(config);
    this.baseUrl = baseUrl;
    this.#token = token;
    this.timeoutMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.maxRetries = config.maxRetries ?? DEFAULT_RETRIES;
    this.send = config.fetch ?? ((input, init) => fetch(input, init));
  }

  get token(): string | undefined {
    return this.#token;
  }

  getBaseUrl(): string {
    return this.baseUrl;
  }

  /** GET of any path of the server, for what has no method yet. */
  get<T>(path: string, options: CallOptions = {}): Promise<T> {
    return this.json<T>(this.plain("GET", path, undefined, this.maxRetries, options));
  }

  post<T>(path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    return this.json<T>(this.plain("POST", path, body, 0, options));
  }

  del<T>(path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    return this.json<T>(this.plain("DELETE", path, body, 0, options));
  }

  /** POST that is answered with server-sent events. */
  stream<T>(path: string, body?: unknown, options: CallOptions = {}): AsyncGenerator<T, void, undefined> {
    return this.read<T>({ ...this.plain("POST", path, body, 0, options), verb: "STREAM", accept: EVENTS });
  }

  streamGet<T>(path: string, options: CallOptions = {}): AsyncGenerator<T, void, undefined> {
    return this.read<T>({ ...this.plain("GET", path, undefined, this.maxRetries, options), verb: "STREAM", accept: EVENTS });
  }

  /** One operation, answered with JSON. */
  call<T>(op: Operation, fields: Fields, options: CallOptions = {}): Promise<T> {
    return this.json<T>(this.requestFor(op, fields, options));
  }

  /** One operation, answered with server-sent events. Leaving the loop ends the stream. */
  events<T>(op: Operation, fields: Fields, options: CallOptions = {}): AsyncGenerator<T, void, undefined> {
    return this.read<T>({ ...this.requestFor(op, fields, options), verb: "STREAM", accept: EVENTS });
  }

  private plain(method: string, path: string, body: unknown, retries: number, options: CallOptions): Request {
    const timeoutMs = options.timeoutMs ?? this.timeoutMs;
    return { verb: method, method, path, body, accept: "application/json", timeoutMs, retries, options };
  }

  private requestFor(op: Operation, fields: Fields, options: CallOptions): Request {
    const { path, body } = place(op, fields as Record<string, unknown>);
    const mayRepeat = op.safe || (op.idempotencyKey && options.idempotencyKey !== undefined);
    const timeoutMs = options.timeoutMs ?? (op.long ? 0 : this.timeoutMs);
    return { ...this.plain(op.method, path, body, mayRepeat ? this.maxRetries : 0, options), timeoutMs };
  }

  private headers(request: Request): Record<string, string> {
    const headers: Record<string, string> = { Accept: request.accept };
    if (request.body !== undefined) headers["Content-Type"] = "application/json";
    if (this.#token) headers["Authorization"] = `Bearer ${this.#token}`;
    if (request.options.idempotencyKey !== undefined) headers["Idempotency-Key"] = request.options.idempotencyKey;
    return headers;
  }

  /** What a failed fetch means to the caller. An abort of the caller's own stays what it is. */
  private lost(request: Request, deadline: Deadline, error: unknown): unknown {
    if (deadline.timedOut) {
      const where = `${request.verb} ${this.baseUrl}${request.path}`;
      return new RequestTimeoutError(`${where}: no answer within ${request.timeoutMs} ms; timeoutMs is the client's limit`);
    }
    if (request.options.signal?.aborted || error instanceof SandboxError) return error;
    const why = lossOf(this.baseUrl, error);
    return new ConnectionError(`${request.verb} ${this.baseUrl}${request.path}: ${why}`, { cause: error });
  }

  /** One attempt: the answer's head, with status 200; or the pause after which to try again. */
  private async attempt(request: Request, deadline: Deadline, left: number): Promise<Response | number> {
    const init: RequestInit = { method: request.method, headers: this.headers(request), signal: deadline.controller.signal };
    if (request.body !== undefined) init.body = JSON.stringify(request.body);
    let response: Response;
    try {
      response = await this.send(this.baseUrl + request.path, init);
    } catch (error) {
      const why = this.lost(request, deadline, error);
      if (left > 0 && why instanceof ConnectionError) return FIRST_PAUSE_MS * 2 ** (request.retries - left);
      throw why;
    }
    if (response.ok) return response;
    const wait = retryAfterMs(response);
    const text = await response.text();
    if (left > 0 && wait !== undefined) return wait;
    throw failureOf(this.baseUrl, request.verb, request.path, response.status, text);
  }

  /** The first good answer, read whole under the same deadline. */
  private async json<T>(request: Request): Promise<T> {
    for (let left = request.retries; ; left--) {
      const deadline = new Deadline(request.timeoutMs, request.options.signal);
      let wait: number;
      try {
        const response = await this.attempt(request, deadline, left);
        if (typeof response !== "number") {
          const text = await response.text();
          return (text === "" ? undefined : JSON.parse(text)) as T;
        }
        wait = response;
      } catch (error) {
        throw this.lost(request, deadline, error);
      } finally {
        deadline.done();
      }
      await pause(wait, request.options.signal);
    }
  }

  private async *read<T>(request: Request): AsyncGenerator<T, void, undefined> {
    for (let left = request.retries; ; left--) {
      const deadline = new Deadline(request.timeoutMs, request.options.signal);
      let wait: number;
      try {
        const response = await this.attempt(request, deadline, left);
        if (typeof response !== "number") {
          deadline.lift();
          if (response.body) yield* this.parse<T>(request, response.body);
          return;
        }
        wait = response;
      } catch (error) {
        throw this.lost(request, deadline, error);
      } finally {
        deadline.done();
        deadline.controller.abort();
      }
      await pause(wait, request.options.signal);
    }
  }

  private async *parse<T>(request: Request, body: ReadableStream<Uint8Array>): AsyncGenerator<T, void, undefined> {
    for await (const text of eventData(body)) {
      const event: unknown = JSON.parse(text);
      const failure = streamFailure(this.baseUrl, request.path, event);
      if (failure) throw failure;
      yield event as T;
    }
  }
}
