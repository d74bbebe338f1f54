import { ConnectionError } from "./errors.js";

/** The part of the standard WebSocket that this package uses. */
export interface Socket {
  binaryType: string;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: { message?: string }) => void) | null;
  send(data: string | Uint8Array): void;
  close(): void;
}

type StandardSocket = new (url: string) => Socket;

/** An open WebSocket: the standard one of browsers and newer versions of Node, else our own for Node. */
export async function openSocket(url: string, token: string | undefined): Promise<Socket> {
  const Standard = (globalThis as { WebSocket?: StandardSocket }).WebSocket;
  let socket: Socket;
  if (Standard) {
    const query = token ? `?token=${encodeURIComponent(token)}` : ""; // its constructor takes no headers
    socket = new Standard(url + query);
  } else {
    const { NodeSocket } = await import("./node-socket.js");
    socket = new NodeSocket(url, token);
  }
  socket.binaryType = "arraybuffer";
  await new Promise<void>((resolve, reject) => {
    const fail = (why?: string) => reject(new ConnectionError(`WebSocket ${url}: ${why || "cannot connect"}`));
    socket.onopen = () => resolve();
    socket.onerror = (event) => fail(event.message);
    socket.onclose = (event) => fail(event.reason);
  });
  socket.onerror = null;
  socket.onclose = null;
  return socket;
}
