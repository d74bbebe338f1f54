// A server that does what a test says: `handle(request, response, body)` for each request, which are all remembered.
import { createServer } from "node:http";

export async function fake(handle) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const body = text === "" ? undefined : JSON.parse(text);
    requests.push({ method: request.method, url: request.url, headers: request.headers, body });
    handle(request, response, body, requests.length);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    requests,
    baseUrl: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

export function reply(response, status, value, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

export const record = { id: "sbx_1", name: "n", image: "i", status: "running", createdAt: 1, expiresAt: 2, config: { image: "i" }, metadata: {} };
