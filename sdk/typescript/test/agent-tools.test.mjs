// The tools for agents, without any framework: what they ask the server, and what they tell a model.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "../dist/index.js";
import { fake, record, reply } from "./fake.mjs";

const result = { exitCode: 0, stdout: "", stderr: "", duration: 5 };
const code = { output: "", error: null, executionTime: 3, results: [], stdout: "", stderr: "", errorName: null, errorValue: null, traceback: [], executionCount: 1 };

/** What a model is told when the server answers so. */
async function told(name, status, answer, input = {}) {
  const server = await fake((_, response) => reply(response, status, answer));
  try {
    const box = new sdk.Client({ baseUrl: server.baseUrl, maxRetries: 0 }).sandbox(record);
    return await sdk.agentTools(box).find((tool) => tool.name === name).execute(input);
  } finally {
    await server.close();
  }
}

test("what is told of commands, code and files", async () => {
  const entries = [
    { name: "d", isDirectory: true, size: 0 },
    { name: "f", isDirectory: false, size: 3 },
  ];
  const cases = [
    ["run_command", { ...result, stdout: "out\n", stderr: "err\n" }, "out\nerr"],
    ["run_command", result, "(no output)"],
    ["run_command", { ...result, exitCode: 2, stderr: "bad" }, "bad\nexit code 2"],
    ["run_command", { ...result, exitCode: 137, signal: "KILL" }, "killed by KILL"],
    ["run_command", { ...result, exitCode: 137, signal: "KILL", oomKilled: true }, "out of memory"],
    ["run_code", { ...code, stdout: "p\n", results: [{ type: "text", data: "42" }, { type: "png", data: "cG5n" }] }, "p\n42\n(1 image)"],
    ["run_code", { ...code, errorName: "E", errorValue: "v", traceback: ["Traceback", "E: v"] }, "Traceback\nE: v"],
    ["list_files", entries, "d/\nf (3 bytes)"],
    ["write_file", { success: true }, "written"],
    ["read_file", "text", "text"],
    ["read_file", "", "(empty)"],
  ];
  for (const [name, answer, says] of cases) assert.equal(await told(name, 200, answer, { path: "a", command: "x", code: "x", content: "c" }), says);
});

test("a refusal is told with the output so far, and long output is cut in the middle", async () => {
  const late = { error: "timed out", result: { ...result, exitCode: -1, stdout: "begun\n" } };
  assert.equal(await told("run_command", 504, late, { command: "x" }), "error: timed out\nbegun");
  const long = await told("run_command", 200, { ...result, stdout: "a".repeat(20_000) + "z".repeat(20_000) }, { command: "x" });
  assert.ok(long.length < 16_100 && long.startsWith("a") && long.endsWith("z") && long.includes("24000 characters cut"));
});

test("what a model cannot mend is thrown", async () => {
  await assert.rejects(told("run_command", 401, { error: "no" }, { command: "x" }), sdk.UnauthorizedError);
  const gone = new sdk.Client({ baseUrl: "http://127.0.0.1:1" }).sandbox(record);
  await assert.rejects(sdk.agentTools(gone)[0].execute({ code: "1" }), sdk.ConnectionError);
});

test("for the Vercel AI SDK they are by name, with its own kind of schema", () => {
  const tools = sdk.aiTools(new sdk.Client().sandbox(record), (schema) => ({ wrapped: schema }));
  assert.deepEqual(Object.keys(tools), ["run_code", "run_command", "read_file", "write_file", "list_files"]);
  assert.deepEqual(tools.read_file.inputSchema.wrapped.required, ["path"]);
});
