// Against a live server: III_URL and III_TOKEN say where.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFile, readdir } from "node:fs/promises";
import { NodeSocket } from "../dist/node-socket.js";
import { Client, NotFoundError, createSandbox, getSandbox, listSandboxes, listTemplates } from "../dist/index.js";

const config = { baseUrl: process.env.III_URL, token: process.env.III_TOKEN };
const client = new Client(config);

async function withBox(body, options = { image: "python" }) {
  const box = await client.createSandbox(options);
  try {
    await body(box);
  } finally {
    await box[Symbol.asyncDispose]();
  }
}

test("factories, refresh, and the end of a sandbox", async () => {
  const box = await createSandbox({ ...config, image: "python", name: "from node" });
  assert.equal(box.info.name, "from node");
  assert.ok((await listSandboxes(config)).some((info) => info.id === box.id));
  assert.ok((await listTemplates(config)).length > 0);
  const again = await getSandbox(box.id, config);
  await box.pause();
  assert.equal(box.status, "paused");
  assert.equal(again.status, "running");
  await again.refresh();
  assert.equal(again.status, "paused");
  await box.resume();
  await box.kill();
  await assert.rejects(again.refresh(), NotFoundError);
});

test("ten commands at once, each with its own output", () =>
  withBox(async (box) => {
    const results = await Promise.all(Array.from({ length: 10 }, (_, i) => box.exec(`echo ${i}`)));
    assert.deepEqual(
      results.map((r) => r.stdout),
      Array.from({ length: 10 }, (_, i) => `${i}\n`),
    );
  }));

test("a stream outlives the client's deadline", () =>
  withBox(async (box) => {
    const hasty = new Client({ ...config, timeoutMs: 300 });
    const types = [];
    for await (const chunk of hasty.sandbox(box.info).execStream("sleep 1; echo late")) types.push(chunk.type);
    assert.deepEqual(types, ["stdout", "exit"]);
  }));

test("an idempotency key runs a command once", () =>
  withBox(async (box) => {
    const options = { idempotencyKey: `key-${box.id}` };
    await box.exec("echo x >> /workspace/log", options);
    await box.exec("echo x >> /workspace/log", options);
    assert.equal(await box.filesystem.read("/workspace/log"), "x\n");
  }));

test("bytes of a file", () =>
  withBox(async (box) => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31) % 256);
    await box.filesystem.writeBytes("/workspace/b", bytes);
    assert.deepEqual(await box.filesystem.readBytes("/workspace/b"), bytes);
    await box.filesystem.move("/workspace/b", "/workspace/c");
    assert.equal((await box.filesystem.info("/workspace/c")).size, bytes.length);
  }));

test("a terminal: size, keys, the shell's exit code", () =>
  withBox(async (box) => {
    const session = await box.terminal.create({ cols: 90, rows: 20, shell: "/bin/sh" });
    const terminal = await box.terminal.connect(session.sessionId);
    terminal.write("stty size\n");
    assert.ok(await terminal.readUntil("20 90"));
    terminal.resize(100, 30);
    terminal.write(`sleep 0.2; stty size; echo ${"y".repeat(300)}\n`);
    assert.ok(await terminal.readUntil("30 100"));
    terminal.write("exit 7\n");
    assert.equal(await terminal.readUntil("nothing prints this"), undefined);
    assert.deepEqual(await terminal.ended, { code: 1000, reason: "exit 7", exitCode: 7 });
    await assert.rejects(box.terminal.connect("term_000000000000000000000000"), /404/);
  }));

test("a terminal that is left lives on", () =>
  withBox(async (box) => {
    const session = await box.terminal.create();
    const first = await box.terminal.connect(session.sessionId);
    first.write("echo kept-$((1 + 1))\n");
    assert.ok(await first.readUntil("kept-2"));
    await first.close();
    const second = await box.terminal.connect(session.sessionId);
    assert.ok(await second.readUntil("kept-2"));
    await second.close();
    await box.terminal.close(session.sessionId);
  }));

test("a WebSocket of the platform is used where there is one, with the token in the query", () =>
  withBox(async (box) => {
    const before = globalThis.WebSocket;
    const urls = [];
    globalThis.WebSocket = class extends NodeSocket {
      constructor(url) {
        super(url, undefined);
        urls.push(url);
      }
    };
    try {
      const terminal = await box.terminal.open();
      terminal.write("echo $((20 + 3))-ok\n");
      assert.ok(await terminal.readUntil("23-ok"));
      await terminal.close();
    } finally {
      globalThis.WebSocket = before;
    }
    assert.match(urls[0], new RegExp(`^ws:.*\\?token=${config.token}$`));
  }));

test("only one file needs Node, and it is loaded only there", async () => {
  const folder = new URL("../dist/", import.meta.url);
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".js"));
  assert.ok(names.length > 20);
  for (const name of names) {
    const text = await readFile(new URL(name, folder), "utf8");
    if (name !== "node-socket.js") assert.doesNotMatch(text, /from "node:|require\(|process\.\w|Buffer\./, name);
    assert.doesNotMatch(text, /from "\.\/node-socket\.js"/, name);
  }
});

test("a page of the sandbox through the proxy's address", () =>
  withBox(async (box) => {
    await box.filesystem.write("/workspace/index.html", "a page");
    await box.background.start("exec python3 -m http.server 8000 --bind 127.0.0.1");
    await box.ports.expose(8000, 0);
    let text = "";
    for (let i = 0; i < 100 && text !== "a page"; i++) {
      const headers = { Authorization: `Bearer ${config.token}` };
      text = await (await fetch(`${box.ports.getProxyUrl(8000)}/index.html`, { headers })).text();
      if (text !== "a page") await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.equal(text, "a page");
  }));
