import type { Execution } from "./code.js";
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

/** A command was to succeed (`check`, or a method such as git.clone) and did not; `result` has its output and how it ended. */
export class CommandFailedError extends SandboxError {
  override readonly name: string = "CommandFailedError";
  readonly command: string;
  readonly result: ExecResult;

  constructor(command: string, result: ExecResult) {
    const { exitCode, signal, oomKilled, stderr, stdout } = result;
    const how = oomKilled ? "out of memory" : signal ? `killed by ${signal}` : `exit code ${exitCode}`;
    super(`${command} failed: ${how}: ${(stderr || stdout).trim()}`);
    this.command = command;
    this.result = result;
  }
}

/** Code was to succeed (`check`) and raised an error; `execution` has its output. */
export class CodeFailedError extends SandboxError {
  override readonly name: string = "CodeFailedError";
  readonly execution: Execution;

  constructor(execution: Execution) {
    super(String(execution.error));
    this.execution = execution;
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
  /** The server that was asked. */
  readonly address?: string;
  /** What to do, where it is known. */
  readonly fix?: unknown;
  /** Of a command that timed out: its output so far. */
  readonly result?: ExecResult;
}

// What to do where the server's own text does not say it.
const FIXES: Record<string, string> = { unauthorized: "set III_SANDBOX_TOKEN, or pass token" };

/** The server refused or failed. There is a class for each code. */
export class ApiError extends SandboxError {
  override readonly name: string = "ApiError";
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string;
  readonly reason: string;
  readonly address: string | undefined;
  readonly fix: unknown;
  readonly result: ExecResult | undefined;

  constructor(failure: ApiFailure) {
    const fix = failure.fix ?? FIXES[failure.code];
    const cure = typeof fix === "string" ? `: ${fix}` : "";
    const where = failure.address ? ` [${failure.address}]` : "";
    super(`${failure.method} ${failure.path} failed: ${failure.status} ${failure.reason}${cure}${where}`);
    this.method = failure.method;
    this.path = failure.path;
    this.status = failure.status;
    this.code = failure.code;
    this.reason = failure.reason;
    this.address = failure.address;
    this.fix = fix;
    this.result = failure.result;
  }
}
