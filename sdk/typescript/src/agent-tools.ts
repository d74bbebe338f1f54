import type { Execution } from "./code.js";
import { ApiError } from "./errors.js";
import type { ExecResult, FileInfo } from "./generated/types.js";
import type { Sandbox } from "./sandbox.js";

/** A tool of an agent, without any framework. `execute` answers in words, failures of the sandbox included. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: object;
  execute(input: Record<string, unknown>): Promise<string>;
}

const OUTPUT_MAX = 16_000; // characters of one answer: a model pays for each
const TIMEOUT_S = 120;

/** The beginning and the end, because errors are at the end; and how much is missing. */
function cut(text: string): string {
  if (text.length <= OUTPUT_MAX) return text;
  const half = OUTPUT_MAX / 2;
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters cut …\n${text.slice(-half)}`;
}

function told(...parts: (string | undefined)[]): string {
  const lines = parts.filter((part) => part).map((part) => part!.replace(/\n+$/, ""));
  return lines.join("\n") || "(no output)";
}

function commandTold({ exitCode, signal, oomKilled, stdout, stderr }: ExecResult): string {
  const how = oomKilled ? "out of memory" : signal ? `killed by ${signal}` : `exit code ${exitCode}`;
  return told(stdout, stderr, exitCode === 0 ? "" : how);
}

function executionTold(done: Execution): string {
  const count = done.images.length;
  const pictures = count > 0 ? `(${count} image${count > 1 ? "s" : ""})` : "";
  return told(done.stdout, done.stderr, done.text, pictures, done.error && String(done.error));
}

function failureTold(error: unknown): string {
  // About a wrong token or a server that is gone a model can do nothing.
  if (!(error instanceof ApiError) || error.code === "unauthorized" || error.code === "forbidden") throw error;
  return told(`error: ${error.reason}`, error.result?.stdout, error.result?.stderr);
}

const text = (description: string) => ({ type: "string", description });

function toolOf(name: string, description: string, properties: object, required: string[], run: (input: any) => Promise<string>): AgentTool {
  return {
    name,
    description,
    inputSchema: { type: "object", properties, required, additionalProperties: false },
    execute: async (input) => cut(await run(input).catch(failureTold)),
  };
}

/** Run code, run commands, read, write and list files: a sandbox as tools of an agent. */
export function agentTools(box: Sandbox): AgentTool[] {
  const path = text("Path, absolute or below /workspace");
  const language = { ...text("Language; python by default"), enum: ["python", "javascript", "typescript", "go", "bash"] };
  return [
    toolOf(
      "run_code",
      "Run code in an isolated Linux sandbox and return what it prints and the value of its last line. " +
        "Variables of python and javascript stay from one call to the next.",
      { code: text("Source code"), language },
      ["code"],
      async (input) => executionTold(await box.runCode(input.code, { language: input.language, timeout: TIMEOUT_S })),
    ),
    toolOf(
      "run_command",
      "Run a shell command in the sandbox and return its output. The working folder is /workspace.",
      { command: text("Command line for sh"), timeout: { type: "integer", description: `Seconds; ${TIMEOUT_S} by default` } },
      ["command"],
      async (input) => commandTold(await box.exec(input.command, { timeout: input.timeout ?? TIMEOUT_S })),
    ),
    toolOf("read_file", "Read a text file of the sandbox.", { path }, ["path"], async (input) => (await box.files.read(input.path)) || "(empty)"),
    toolOf(
      "write_file",
      "Write a text file in the sandbox, with the folders above it.",
      { path, content: text("Whole content") },
      ["path", "content"],
      async (input) => {
        await box.files.write(input.path, input.content);
        return "written";
      },
    ),
    toolOf("list_files", "List a folder of the sandbox.", { path: text("Folder; /workspace by default") }, [], async (input) => {
      const entries: FileInfo[] = await box.files.list(input.path ?? "/workspace");
      return told(...entries.map(({ name, isDirectory, size }) => (isDirectory ? `${name}/` : `${name} (${size} bytes)`)));
    }),
  ];
}

/** Tools for the Vercel AI SDK, by name: `generateText({ tools: aiTools(box, jsonSchema), … })`, with its own `jsonSchema`. */
export function aiTools<S>(
  box: Sandbox,
  jsonSchema: (schema: any) => S,
): Record<string, { description: string; inputSchema: S; execute: (input: any) => Promise<string> }> {
  return Object.fromEntries(
    agentTools(box).map(({ name, description, inputSchema, execute }) => [name, { description, inputSchema: jsonSchema(inputSchema), execute }]),
  );
}
