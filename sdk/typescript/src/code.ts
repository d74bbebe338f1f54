import { fromBase64 } from "./base64.js";
import { CodeFailedError } from "./errors.js";
import type { CodeResult, ContextEvent, ContextResult, RichResult } from "./generated/types.js";

/** Languages whose variables live between calls. */
export const CONTEXT_LANGUAGES: readonly string[] = ["python", "javascript"];

/** The error that ended the code: its class, its message, and the lines of its traceback. */
export class CodeError {
  constructor(
    readonly name: string,
    readonly value: string,
    readonly traceback: readonly string[] = [],
  ) {}

  toString(): string {
    return this.traceback.join("\n") || `${this.name}: ${this.value}`;
  }
}

/** What a piece of code printed, gave and raised. */
export class Execution {
  /** The value of the last line and what was displayed, each in every form that it has. */
  results: RichResult[] = [];
  stdout = "";
  stderr = "";
  error: CodeError | undefined;
  executionCount = 0;
  durationMs = 0;
  timedOut = false;
  truncated = false;

  get ok(): boolean {
    return this.error === undefined;
  }

  /** The value of the last line, as text. */
  get text(): string | undefined {
    const found = this.results.filter((result) => result.type === "text").at(-1);
    return found === undefined ? undefined : String(found.data);
  }

  /** Figures and pictures, as the bytes of PNG or JPEG files. */
  get images(): Uint8Array[] {
    return this.results.filter(({ type }) => type === "png" || type === "jpeg").map(({ data }) => fromBase64(String(data)));
  }

  /** Throws a CodeFailedError when the code raised an error. */
  check(): this {
    if (this.error) throw new CodeFailedError(this);
    return this;
  }

  /** One event of a stream. */
  take(event: ContextEvent): void {
    if (event.type === "stdout") this.stdout += event.data ?? "";
    if (event.type === "stderr") this.stderr += event.data ?? "";
    if (event.type === "result" && event.result) this.results.push(event.result);
    if (event.type === "error") this.error = new CodeError(event.errorName ?? "Error", event.errorValue ?? "", event.traceback);
    if (event.type === "end") this.ends(event);
  }

  private ends(end: Pick<ContextEvent, "executionCount" | "executionTime" | "timedOut" | "truncated">): void {
    this.executionCount = end.executionCount ?? 0;
    this.durationMs = end.executionTime ?? 0;
    this.timedOut = end.timedOut ?? false;
    this.truncated = end.truncated ?? false;
  }

  static of(result: ContextResult): Execution {
    const made = new Execution();
    made.results = result.results;
    made.stdout = result.stdout;
    made.stderr = result.stderr;
    if (result.errorName) made.error = new CodeError(result.errorName, result.errorValue ?? "", result.traceback);
    made.ends(result);
    return made;
  }

  /** Of an interpreter that keeps nothing: what it wrote to standard error is why it failed. */
  static ofFresh(result: CodeResult): Execution {
    const made = new Execution();
    made.stdout = result.output;
    made.ends({ executionCount: 1, executionTime: result.executionTime });
    const lines = result.error?.trim().split("\n");
    if (lines) made.error = new CodeError("Error", lines.at(-1) ?? "", lines);
    return made;
  }
}
