import type { ExecResult } from "./generated/types.js";

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

/** A command in the sandbox that a method stands for, such as git clone, exited with another code than 0. */
export class CommandFailedError extends SandboxError {
  override readonly name: string = "CommandFailedError";
  readonly command: string;
  readonly result: ExecResult;

  constructor(command: string, result: ExecResult) {
    super(`${command} failed: exit code ${result.exitCode}: ${(result.stderr || result.stdout).trim()}`);
    this.command = command;
    this.result = result;
  }
}

export function succeeded(command: string, result: ExecResult): ExecResult {
  if (result.exitCode !== 0) throw new CommandFailedError(command, result);
  return result;
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
