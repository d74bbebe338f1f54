/** What every error of this package is. */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
}

/** No answer: the server could not be reached, or the connection broke. */
export class ConnectionError extends SandboxError {
  override readonly name: string = "ConnectionError";
}

/** No answer within the client's own deadline (`timeoutMs`). */
export class RequestTimeoutError extends SandboxError {
  override readonly name: string = "RequestTimeoutError";
}

export interface ApiFailure {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string;
  /** Why, in the server's words. */
  readonly reason: string;
}

/** The server refused or failed. There is a class for each code. */
export class ApiError extends SandboxError {
  override readonly name: string = "ApiError";
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string;
  readonly reason: string;

  constructor(failure: ApiFailure) {
    super(`${failure.method} ${failure.path} failed: ${failure.status} ${failure.reason}`);
    this.method = failure.method;
    this.path = failure.path;
    this.status = failure.status;
    this.code = failure.code;
    this.reason = failure.reason;
  }
}
