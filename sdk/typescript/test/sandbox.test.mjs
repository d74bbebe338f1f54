// How a sandbox is opened, what it is given and what is made of its answers, against a server that does what each test says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import * as sdk from "../dist/index.js";
import { fake, record, reply } from "./fake.mjs";

const { Sandbox } = sdk;
const NAMES = ["III_SANDBOX_URL", "III_SANDBOX_TOKEN", "III_AUTH_TOKEN"];
const result = { exitCode: 0, stdout: "out", stderr: "", duration: 5, timedOut: false, oomKilled: false };

/** Runs a test against a fake server, without the variables of whoever runs the tests. */
function against(name, handle, body) {
  test(name, async () => {
    const before = NAMES.map((variable) => [variable, process.env[variable]]);
    for (const variable of NAMES) delete process.env[variable];
    const server = await fake(handle);
    try {
      await body(server, { baseUrl: server.baseUrl });
    } finally {
      for (const [variable, value] of before) value === undefined ? delete process.env[variable] : (process.env[variable] = value);
      await server.close();
    }
  });
}

const ok = (value) => (_, response) => reply(response, 200, value);
const sse = (response, ...events) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
};
/** A record for the first request, then what is given for the next ones. */
const then = (...answers) => (_, response, __, n) => {
  const answer = n === 1 ? record : answers[Math.min(n, answers.length + 1) - 2];
  return Array.isArray(answer) ? sse(response, ...answer) : reply(response, answer.status504 ? 504 : 200, answer);
};

against("settings come from the environment, arguments come first", ok(record), async (server) => {
  process.env.III_SANDBOX_URL = `${server.baseUrl}/`;
  process.env.III_AUTH_TOKEN = "server's";
  await Sandbox.create();
  process.env.III_SANDBOX_TOKEN = "mine";
  await Sandbox.create();
  await Sandbox.create({ token: "given" });
  await Sandbox.create({ token: "" });
  process.env.III_SANDBOX_URL = "http://127.0.0.1:1";
  await Sandbox.create({ baseUrl: server.baseUrl });
  assert.deepEqual(
    server.requests.map((r) => r.headers.authorization),
    ["Bearer server's", "Bearer mine", "Bearer given", undefined, "Bearer mine"],
  );
  for (const variable of NAMES) delete process.env[variable];
  assert.equal(new sdk.HttpClient().getBaseUrl(), "http://localhost:3111");
});

against(
  "a token is never shown",
  (request, response) => (request.url.endsWith("/exec") ? reply(response, 403, { error: "no" }) : reply(response, 200, record)),
  async (server, where) => {
    const token = "s3cret-token";
    const client = new sdk.Client({ ...where, token });
    const box = await client.createSandbox();
    const refused = await box.exec("true").catch((e) => e);
    const lost = await Sandbox.create({ baseUrl: "http://127.0.0.1:1", token }).catch((e) => e);
    const things = [client, client.http, box, box.files, refused, lost];
    const shown = things.map((thing) => inspect(thing, { depth: 9, showHidden: true }) + JSON.stringify(thing) + String(thing)).join("");
    assert.equal(server.requests[0].headers.authorization, `Bearer ${token}`);
    assert.ok(!shown.includes(token));
    assert.equal(inspect(box), `Sandbox sbx_1 "n" running at ${server.baseUrl}`);
    assert.throws(() => new sdk.Client({ baseUrl: "http://user:passw0rd@localhost" }), (e) => /use token/.test(e.message) && !/passw0rd/.test(e.message));
  },
);

against(
  "where nothing listens, the error says where, what, and what to do",
  (_, response) => reply(response, 401, { error: "Missing authorization header" }),
  async (server, where) => {
    const gone = await fake(() => {});
    await gone.close();
    const lost = await Sandbox.create({ baseUrl: gone.baseUrl }).catch((e) => e);
    assert.ok(lost instanceof sdk.ConnectionError);
    assert.match(lost.message, /^POST http:\/\/127\.0\.0\.1:\d+\/sandbox\/sandboxes: no server at .*iii serve.*III_SANDBOX_URL/);
    const refused = await Sandbox.create(where).catch((e) => e);
    assert.ok(refused instanceof sdk.UnauthorizedError && /III_SANDBOX_TOKEN/.test(refused.message));
    assert.deepEqual([refused.code, refused.address, refused.fix], ["unauthorized", server.baseUrl, "set III_SANDBOX_TOKEN, or pass token"]);
  },
);

against("creating and connecting send what they say", ok({ ...record, success: true }), async (server, where) => {
  process.env.III_SANDBOX_URL = where.baseUrl;
  const opened = [
    await Sandbox.create("node", { memory: 64, name: "a" }),
    await Sandbox.connect("a name"),
    await Sandbox.connectOrCreate("n", { image: "python", memory: 32 }),
    await Sandbox.fromSnapshot("snap_1", { keep: true }),
    await sdk.getSandbox("sbx_1"),
  ];
  for (const box of opened) await box[Symbol.asyncDispose]();
  assert.deepEqual(
    server.requests.map(({ method, url, body }) => [method, url, body]),
    [
      ["POST", "/sandbox/sandboxes", { image: "node", memory: 64, name: "a" }],
      ["GET", "/sandbox/sandboxes/a%20name", undefined],
      ["POST", "/sandbox/sandboxes", { image: "python", memory: 32, name: "n", ifExists: "connect" }],
      ["POST", "/sandbox/snapshots/snap_1/clone", {}],
      ["GET", "/sandbox/sandboxes/sbx_1", undefined],
      ["DELETE", "/sandbox/sandboxes/sbx_1", undefined],
      ["DELETE", "/sandbox/sandboxes/sbx_1", undefined],
    ],
    "what was created is killed at the end, what was connected to is not",
  );
});

against(
  "a paused sandbox is started when it is connected to by name",
  (_, response, __, n) => reply(response, 200, { ...record, status: n === 1 ? "paused" : "running" }),
  async (server, where) => {
    assert.equal((await Sandbox.connectOrCreate("n", where)).status, "running");
    assert.equal(server.requests[1].url, "/sandbox/sandboxes/sbx_1/start");
  },
);

against("a sandbox has the members of its record", ok(record), async (_, where) => {
  const box = await Sandbox.create(where);
  assert.deepEqual([box.id, box.name, box.image, box.createdAt, box.expiresAt, box.parentId], ["sbx_1", "n", "i", 1, 2, undefined]);
  assert.deepEqual(JSON.parse(JSON.stringify(box)), record);
  assert.equal(box.files, box.filesystem);
});

against(
  "all pages of a list are sandboxes",
  (request, response) => {
    const page = Number(new URL(request.url, "http://x").searchParams.get("page"));
    reply(response, 200, { items: [{ ...record, id: `s${page}` }], total: 2, page, pageSize: 1 });
  },
  async (_, where) => {
    const boxes = await Sandbox.list({ ...where, pageSize: 1 });
    assert.deepEqual(
      boxes.map((box) => box.id),
      ["s1", "s2"],
    );
    assert.ok(boxes.every((box) => box instanceof Sandbox));
    assert.equal((await Sandbox.list({ ...where, page: 2 })).length, 1);
  },
);

against(
  "copies are sandboxes",
  (request, response) => reply(response, 200, request.url.endsWith("/fork") ? { sandboxes: [{ ...record, id: "k1" }, { ...record, id: "k2" }] } : record),
  async (server, where) => {
    const box = await Sandbox.create(where);
    const two = await box.fork({ count: 2, name: "k" });
    assert.deepEqual([two.map((kid) => kid.id), (await box.fork()).id, (await box.clone("c")).id], [["k1", "k2"], "k1", "sbx_1"]);
    assert.deepEqual(
      server.requests.slice(1).map((r) => r.body),
      [{ count: 2, name: "k" }, {}, { name: "c" }],
    );
  },
);

against("what a command is given", then(result), async (server, where) => {
  const box = await Sandbox.create(where);
  await box.exec("true", 5);
  await box.exec("true", { timeout: 5, cwd: "/tmp", env: { A: "b" }, user: "nobody", stdin: "text", idempotencyKey: "k" });
  await box.exec(["a", "b"], { stdin: Uint8Array.of(255) });
  assert.deepEqual(
    server.requests.slice(1).map((r) => r.body),
    [
      { command: "true", timeout: 5 },
      { command: "true", timeout: 5, cwd: "/tmp", env: { A: "b" }, user: "nobody", stdin: "text" },
      { command: ["a", "b"], stdin: "/w==", stdinEncoding: "base64" },
    ],
  );
  assert.equal(server.requests[2].headers["idempotency-key"], "k");
});

against(
  "check throws what happened",
  then(result, { ...result, exitCode: 3, stderr: "why\n" }, { ...result, exitCode: 137, signal: "KILL" }, { ...result, exitCode: 137, oomKilled: true }),
  async (_, where) => {
    const box = await Sandbox.create(where);
    assert.equal((await box.exec("true", { check: true })).exitCode, 0);
    for (const says of [/^true failed: exit code 3: why$/, /killed by KILL/, /out of memory/]) {
      await assert.rejects(box.exec(["true"], { check: true }), (e) => e instanceof sdk.CommandFailedError && says.test(e.message) && e.result.exitCode !== 0);
    }
  },
);

const output = [
  { type: "stdout", data: "a", timestamp: 1 },
  { type: "stderr", data: "e", timestamp: 1 },
  { type: "stdout", data: "b", timestamp: 1 },
];

against(
  "callbacks get the output as it comes, and the result has all of it",
  then(
    [...output, { type: "exit", data: "143", timestamp: 1, duration: 7, signal: "TERM", timedOut: false, oomKilled: false }],
    [...output, { type: "exit", data: "-1", timestamp: 1, duration: 9, timedOut: true, oomKilled: false }],
  ),
  async (_, where) => {
    const box = await Sandbox.create(where);
    const seen = [];
    const slow = async (text) => seen.push(await new Promise((resolve) => setImmediate(resolve, text)));
    const done = await box.exec("x", { onStdout: slow, onStderr: (text) => seen.push(`!${text}`) });
    assert.deepEqual(seen, ["a", "!e", "b"]);
    assert.deepEqual([done.stdout, done.stderr, done.exitCode, done.signal, done.duration], ["ab", "e", 143, "TERM", 7]);
    const late = await box.exec("x", { onStdout: () => {} }).catch((e) => e);
    assert.ok(late instanceof sdk.TimedOutError && late.result.stdout === "ab" && late.result.timedOut);
  },
);

against("the output so far of a command that timed out", then({ status504: true, error: "late", result: { ...result, timedOut: true } }), async (_, where) => {
  const late = await (await Sandbox.create(where)).exec("x", 1).catch((e) => e);
  assert.ok(late instanceof sdk.TimedOutError);
  assert.deepEqual([late.result.stdout, late.result.timedOut], ["out", true]);
});

const ran = {
  output: "o",
  error: null,
  executionTime: 3,
  results: [
    { type: "text", data: "42" },
    { type: "png", data: "cG5n" },
  ],
  stdout: "o",
  stderr: "e",
  errorName: null,
  errorValue: null,
  traceback: [],
  executionCount: 2,
  timedOut: false,
  truncated: false,
  state: "idle",
};
const failed = { ...ran, results: [], errorName: "ValueError", errorValue: "bad", traceback: ["Traceback", "ValueError: bad"] };

against("code runs in the default context of its language", then(ran, ran, failed, failed), async (server, where) => {
  const box = await Sandbox.create(where);
  const done = await box.runCode("x", { timeout: 9 });
  assert.deepEqual([done.text, done.stdout, done.stderr, done.ok, done.executionCount, done.durationMs], ["42", "o", "e", true, 2, 3]);
  assert.equal(new TextDecoder().decode(done.images[0]), "png");
  await box.runCode("x", "javascript");
  const failure = await box.runCode("x", { context: "ctx_1" });
  assert.deepEqual([failure.ok, failure.text, failure.error.name, failure.error.value], [false, undefined, "ValueError", "bad"]);
  await assert.rejects(box.runCode("x", { check: true }), (e) => e instanceof sdk.CodeFailedError && /ValueError: bad/.test(e.message));
  assert.deepEqual(
    server.requests.slice(1).map((r) => r.url.split("/contexts/")[1]),
    ["python/execute", "javascript/execute", "ctx_1/execute", "python/execute"],
  );
  assert.deepEqual(server.requests[1].body, { code: "x", timeout: 9 });
});

against(
  "code is streamed to callbacks",
  then([
    { type: "stdout", data: "a", timestamp: 1 },
    { type: "result", result: { type: "text", data: "1" }, timestamp: 1 },
    { type: "stderr", data: "b", timestamp: 1 },
    { type: "error", errorName: "E", errorValue: "v", traceback: ["t"], timestamp: 1 },
    { type: "end", executionCount: 4, executionTime: 5, timedOut: true, timestamp: 1 },
  ]),
  async (_, where) => {
    const seen = [];
    const push = (text) => seen.push(text);
    const done = await (await Sandbox.create(where)).runCode("x", { onStdout: push, onStderr: push, onResult: (r) => push(r.data) });
    assert.deepEqual(seen, ["a", "1", "b"]);
    assert.deepEqual([done.text, done.stdout, done.stderr, String(done.error), done.executionCount, done.timedOut], ["1", "a", "b", "t", 4, true]);
  },
);

against(
  "languages without contexts run afresh",
  then({ output: "42\n", error: null, executionTime: 1 }, { output: "", error: "line\nsh: bad", executionTime: 1 }),
  async (server, where) => {
    const box = await Sandbox.create(where);
    const seen = [];
    assert.equal((await box.runCode("echo 42", { language: "bash", onStdout: (text) => seen.push(text) })).stdout, "42\n");
    assert.deepEqual(seen, ["42\n"]);
    assert.equal((await box.runCode("bad", "bash")).error.value, "sh: bad");
    assert.deepEqual(server.requests[1].body, { code: "echo 42", language: "bash" });
  },
);

const preview = { port: 80, url: "http://80-1.localhost:3111/", public: false, rewriteHost: false };
const signed = { ...preview, signedUrl: "http://80-1.localhost:3111/?iii-preview=x" };

against("the address of a port", then(preview, signed, { ...signed, public: true }), async (server, where) => {
  const box = await Sandbox.create(where);
  const links = [await box.getUrl(80), await box.getUrl(80, { ttl: 60 }), await box.getUrl(80, { public: true })];
  assert.deepEqual(links, [preview.url, signed.signedUrl, preview.url]);
  const bodies = server.requests.slice(1).map(({ body }) => body);
  assert.deepEqual(bodies, [{ port: 80 }, { port: 80, ttl: 60 }, { port: 80, public: true }]);
});
