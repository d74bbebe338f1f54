// Runs requests of the contract scenarios (tests/contract/README.md) through the classes of this package.
import { createInterface } from "node:readline";
import { ApiError, Client, CommandFailedError } from "../dist/index.js";
import { box, calls as made } from "./calls.mjs";

const baseUrl = process.env.III_URL;

// What is written by hand in this package.
const byHand = {
  sandbox_create: async (c, a) => (await c.createSandbox(a)).info,
  sandbox_list: (c, a) => c.listSandboxes(a),
  sandbox_get: async (c, a) => (await c.getSandbox(a.id)).info,
  sandbox_clone: async (c, a) => (await box(c, a.id).clone(a.name)).info,
  sandbox_fork: async (c, { id, ...options }) => ({ sandboxes: [await box(c, id).fork(options)].flat().map((b) => b.info) }),
  cmd_run: (c, { id, command, ...options }) => box(c, id).exec(command, options),
  cmd_run_stream: (c, { id, command, ...options }) => box(c, id).execStream(command, options),
  fs_info: (c, a) => box(c, a.id).filesystem.info(a.paths ?? a.path),
  fs_move: (c, a) => box(c, a.id).filesystem.move(a.moves),
  fs_mkdir: (c, a) => box(c, a.id).filesystem.mkdir(a.paths ?? a.path),
  fs_rmdir: (c, a) => box(c, a.id).filesystem.rmdir(a.paths ?? a.path),
  terminal_talk: async (c, a) => {
    const terminal = await box(c, a.id).terminal.open();
    try {
      terminal.write(a.input);
      return { found: (await terminal.readUntil(a.until)) !== undefined };
    } finally {
      await terminal.close();
    }
  },
};

const calls = { ...made, ...byHand };

async function collect(events, take) {
  const found = [];
  for await (const event of events) {
    found.push(event);
    if (found.length === take) break;
  }
  return found;
}

async function answer({ op, args, take, token, stream }) {
  if (op === "operations") return { ok: Object.keys(calls) };
  const client = new Client({ baseUrl, token: token ?? process.env.III_TOKEN });
  try {
    const result = await calls[op](client, args, stream);
    return { ok: (result?.[Symbol.asyncIterator] ? await collect(result, take) : result) ?? null };
  } catch (error) {
    if (error instanceof CommandFailedError) return { error: { code: "command_failed", status: 200, message: error.message } };
    if (!(error instanceof ApiError)) throw error;
    return { error: { code: error.code, status: error.status, message: error.reason } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
