import { toBase64 } from "./base64.js";
import type { CmdRunParams, ExecResult, ExecStreamChunk } from "./generated/types.js";
import type { CallOptions } from "./http.js";

/** What a command runs with. */
export interface CommandOptions extends Omit<CmdRunParams, "id" | "command" | "stdin">, CallOptions {
  /** Text or bytes; standard input is empty without it. */
  stdin?: string | Uint8Array;
}

export interface ExecOptions extends CommandOptions {
  /** Gets each piece of output as it comes; a promise of it is waited for. */
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
  /** Throws a CommandFailedError unless the exit code is 0. */
  check?: boolean;
}

const KEPT_MAX = 10 * 1024 * 1024; // characters of each stream, as of a command that is waited for

export function shown(command: string | string[]): string {
  return typeof command === "string" ? command : command.join(" ");
}

/** Fields of the request, and what belongs to the call. */
export function placed({ signal, timeoutMs, idempotencyKey, stdin, ...fields }: CommandOptions) {
  const input = stdin instanceof Uint8Array ? { stdin: toBase64(stdin), stdinEncoding: "base64" as const } : { stdin };
  return { fields: { ...fields, ...input }, call: { signal, timeoutMs, idempotencyKey } };
}

/** The output of a stream up to its end, as a result. */
export class Collected {
  private readonly texts = { stdout: "", stderr: "" };
  private readonly cut = { stdout: false, stderr: false };
  private end: ExecStreamChunk = { type: "exit", data: "-1", timestamp: 0 };

  take(chunk: ExecStreamChunk): void {
    if (chunk.type === "exit") this.end = chunk;
    if (chunk.type !== "stdout" && chunk.type !== "stderr") return;
    const whole = this.texts[chunk.type] + (chunk.data ?? "");
    this.texts[chunk.type] = whole.slice(0, KEPT_MAX);
    this.cut[chunk.type] ||= whole.length > KEPT_MAX;
  }

  result(): ExecResult {
    const { data, duration, signal, timedOut, oomKilled } = this.end;
    return {
      exitCode: Number(data ?? -1),
      ...this.texts,
      duration: duration ?? 0,
      stdoutTruncated: this.cut.stdout,
      stderrTruncated: this.cut.stderr,
      ...(signal === undefined ? {} : { signal }),
      timedOut: timedOut ?? false,
      oomKilled: oomKilled ?? false,
    };
  }
}
