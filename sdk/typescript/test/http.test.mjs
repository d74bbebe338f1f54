import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "../dist/index.js";
import { fake, record, reply } from "./fake.mjs";

/** Runs a test against a fake server, which is closed whatever happens. */
function against(name, handle, body) {
  test(name, async () => {
    const server = await fake(handle);
    try {
      await body(server, new sdk.Client({ baseUrl: server.baseUrl + "/", token: "t" }));
    } finally {
      await server.close();
    }
  });
}

const ok = (value) => (_, response) => reply(response, 200, value);

against("only the fields that were given are sent", ok(record), async (server, client) => {
  await client.createSandbox();
  await client.createSandbox({ image: "node" });
  await client.createSandbox({ template: "data" });
  await client.createSandbox({ image: undefined, name: "x" });
  assert.deepEqual(
    server.requests.map((r) => r.body),
    [{}, { image: "node" }, { template: "data" }, { name: "x" }],
  );
});

against("factories take options of the client among those of the sandbox", ok(record), async (server) => {
  const box = await sdk.createSandbox({ baseUrl: server.baseUrl, token: "secret", memory: 64 });
  assert.equal(box.id, "sbx_1");
  assert.equal(box.status, "running");
  assert.deepEqual(server.requests[0].body, { memory: 64 });
  assert.equal(server.requests[0].headers.authorization, "Bearer secret");
});

against("fields go where the table says, escaped", ok({ items: [], total: 0, page: 1, pageSize: 20 }), async (server, client) => {
  await client.listSandboxes({ status: "paused", metadata: { a: "b&c" } });
  await client.sandbox({ id: "a/b?c" }).git.diff({ staged: false, file: "x y" });
  await client.sandbox({ id: "sbx_1" }).ports.unexpose(80);
  await client.images.delete("host/name:tag");
  assert.deepEqual(
    server.requests.map((r) => `${r.method} ${r.url}`),
    [
      "GET /sandbox/sandboxes?status=paused&metadata=%7B%22a%22%3A%22b%26c%22%7D",
      "GET /sandbox/sandboxes/a%2Fb%3Fc/git/diff?staged=false&file=x+y",
      "DELETE /sandbox/sandboxes/sbx_1/ports?containerPort=80",
      "DELETE /sandbox/images/host%2Fname%3Atag",
    ],
  );
  assert.ok(server.requests.every((r) => r.body === undefined));
});

test("an id that is missing is refused before anything is sent", async () => {
  const client = new sdk.Client({ baseUrl: "http://127.0.0.1:1" });
  await assert.rejects(async () => client.sandbox({ id: "" }).metrics(), /id is missing/);
});

against(
  "every status has its class and code",
  (request, response) => reply(response, Number(request.url.slice(1)), { error: "because" }),
  async (server, client) => {
    for (const [status, { code, make }] of Object.entries(sdk.errorsByStatus)) {
      const error = await client.http.post(`/${status}`).catch((e) => e);
      assert.ok(error instanceof make && error instanceof sdk.ApiError && error instanceof sdk.SandboxError, status);
      assert.equal(error.code, code);
      assert.equal(error.status, Number(status));
      assert.equal(error.reason, "because");
      const cure = code === "unauthorized" ? ": set III_SANDBOX_TOKEN, or pass token" : "";
      assert.equal(error.message, `POST /${status} failed: ${status} because${cure} [${server.baseUrl}]`);
      assert.equal(error.name, make.name);
    }
    const odd = await client.http.get("/418").catch((e) => e);
    assert.equal(odd.code, "http_418");
  },
);

against(
  "a safe call is tried again after a lost connection, three times in all",
  (request, response, _, n) => (n < 3 ? request.socket.destroy() : reply(response, 200, { status: "healthy" })),
  async (server, client) => {
    assert.deepEqual(await client.admin.health(), { status: "healthy" });
    assert.equal(server.requests.length, 3);
  },
);

against("a connection that stays lost is an error", (request) => request.socket.destroy(), async (server, client) => {
  await assert.rejects(client.admin.health(), sdk.ConnectionError);
  assert.equal(server.requests.length, 3);
});

against("a command is not tried again, unless it has a key", (request) => request.socket.destroy(), async (server, client) => {
  const box = client.sandbox(record);
  await assert.rejects(box.exec("rm x"), sdk.ConnectionError);
  assert.equal(server.requests.length, 1);
  await assert.rejects(box.exec("rm x", { idempotencyKey: "k1" }), sdk.ConnectionError);
  assert.equal(server.requests.length, 4);
  assert.deepEqual(new Set(server.requests.slice(1).map((r) => r.headers["idempotency-key"])), new Set(["k1"]));
  await assert.rejects(box.kill(), sdk.ConnectionError);
  assert.equal(server.requests.length, 5);
});

against(
  "Retry-After is followed, a refusal without it is final",
  (_, response, __, n) =>
    n === 1 ? reply(response, 429, { error: "slow down" }, { "Retry-After": "0" }) : reply(response, 429, { error: "quota" }),
  async (server, client) => {
    await assert.rejects(client.admin.health(), (e) => e instanceof sdk.RateLimitedError && e.reason === "quota");
    assert.equal(server.requests.length, 2);
  },
);

against("no answer within the deadline, once", () => {}, async (server) => {
  const client = new sdk.Client({ baseUrl: server.baseUrl, timeoutMs: 500 });
  await assert.rejects(client.admin.health(), sdk.RequestTimeoutError);
  assert.equal(server.requests.length, 1);
});

against(
  "what takes long has no deadline, and neither has a stream that has begun",
  (request, response) => {
    if (request.url.endsWith("/exec")) return setTimeout(() => reply(response, 200, { exitCode: 0 }), 800);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(": hello\n\n");
    setTimeout(() => response.end('data: {"n":1}\n\n'), 800);
  },
  async (server) => {
    const client = new sdk.Client({ baseUrl: server.baseUrl, timeoutMs: 500 });
    assert.equal((await client.sandbox(record).exec("sleep")).exitCode, 0);
    const seen = [];
    for await (const event of client.events.stream()) seen.push(event);
    assert.deepEqual(seen, [{ n: 1 }]);
    await assert.rejects(client.sandbox(record).exec("sleep", { timeoutMs: 50 }), sdk.RequestTimeoutError);
  },
);

against(
  "events are put together from pieces of any size",
  async (_, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const text = ': ping\n\ndata: {"a":"gr\u00fc\u00dfe"}\n\nid: 7\r\ndata:{"b":\r\ndata: 2}\r\n\r\ndata: {"c":3}';
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  },
  async (_, client) => {
    const seen = [];
    for await (const event of client.http.streamGet("/x")) seen.push(event);
    assert.deepEqual(seen, [{ a: "gr\u00fc\u00dfe" }, { b: 2 }, { c: 3 }]);
  },
);

const events = (...texts) => (_, response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const text of texts) response.write(`data: ${text}\n\n`);
  response.end();
};

against(
  "a stream that breaks off before its last event is an error",
  events('{"type":"stdout","data":"a","timestamp":1}'),
  async (_, client) => {
    const seen = [];
    await assert.rejects(async () => {
      for await (const chunk of client.sandbox(record).execStream("x")) seen.push(chunk.data);
    }, sdk.ConnectionError);
    assert.deepEqual(seen, ["a"]);
  },
);

against(
  "an error inside a stream has its class",
  events('{"type":"error","error":"the sandbox is gone","code":"not_found","timestamp":1}'),
  async (_, client) => {
    const stream = client.sandbox(record).streams.metrics();
    await assert.rejects(stream.next(), (e) => e instanceof sdk.NotFoundError && e.reason === "the sandbox is gone");
  },
);

against(
  "leaving a stream closes its connection",
  (request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write('data: {"n":1}\n\n');
    request.socket.on("close", () => (request.wasClosed = true));
    against.last = request;
  },
  async (_, client) => {
    for await (const _event of client.events.stream()) break;
    for (let i = 0; i < 200 && !against.last.wasClosed; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(against.last.wasClosed);
  },
);

against("the caller's signal ends a call", () => {}, async (_, client) => {
  const controller = new AbortController();
  const call = client.sandbox(record).exec("sleep", { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 20);
  await assert.rejects(call, /enough|aborted/);
});

against(
  "disposing kills, and one that is gone is no error",
  (_, response, __, n) => (n === 1 ? reply(response, 200, { success: true }) : reply(response, n === 2 ? 404 : 500, { error: "x" })),
  async (server, client) => {
    await client.sandbox(record)[Symbol.asyncDispose]();
    await client.sandbox(record)[Symbol.asyncDispose]();
    await assert.rejects(client.sandbox(record)[Symbol.asyncDispose](), sdk.InternalError);
    assert.deepEqual(new Set(server.requests.map((r) => `${r.method} ${r.url}`)), new Set(["DELETE /sandbox/sandboxes/sbx_1"]));
  },
);

against(
  "all pages of a list",
  (request, response) => {
    const page = Number(new URL(request.url, "http://x").searchParams.get("page"));
    reply(response, 200, { items: page < 3 ? [{ id: `s${page}` }] : [], total: 2, page, pageSize: 1 });
  },
  async (_, client) => {
    const seen = [];
    for await (const info of client.allSandboxes({ pageSize: 1 })) seen.push(info.id);
    assert.deepEqual(seen, ["s1", "s2"]);
  },
);
