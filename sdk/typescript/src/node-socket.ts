import { createHash, randomBytes } from "node:crypto";
import { request as plainRequest, type IncomingMessage } from "node:http";
import { request as tlsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { Socket } from "./socket.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const MESSAGE_MAX = 16 * 1024 * 1024;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

interface Frame {
  readonly fin: boolean;
  readonly opcode: number;
  readonly data: Buffer;
  readonly length: number;
}

/** The first frame of a buffer, when it is all there. */
function parse(buffer: Buffer): Frame | undefined {
  if (buffer.length < 2) return undefined;
  const small = buffer[1]! & 0x7f;
  const head = small === 126 ? 4 : small === 127 ? 10 : 2;
  if (buffer.length < head) return undefined;
  const size = small === 126 ? buffer.readUInt16BE(2) : small === 127 ? Number(buffer.readBigUInt64BE(2)) : small;
  if (size > MESSAGE_MAX || buffer[1]! & 0x80 || buffer[0]! & 0x70) throw new Error("the server sent a bad WebSocket frame");
  if (buffer.length < head + size) return undefined;
  const data = buffer.subarray(head, head + size);
  return { fin: (buffer[0]! & 0x80) !== 0, opcode: buffer[0]! & 0x0f, data, length: head + size };
}

function masked(opcode: number, data: Uint8Array): Buffer {
  const long = data.length > 0xffff ? 8 : data.length > 125 ? 2 : 0;
  const frame = Buffer.alloc(6 + long + data.length);
  const mask = randomBytes(4);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (long === 8 ? 127 : long === 2 ? 126 : data.length);
  if (long === 8) frame.writeBigUInt64BE(BigInt(data.length), 2);
  if (long === 2) frame.writeUInt16BE(data.length, 2);
  mask.copy(frame, 2 + long);
  for (let i = 0; i < data.length; i++) frame[6 + long + i] = data[i]! ^ mask[i % 4]!;
  return frame;
}

/** A WebSocket client for versions of Node that have none. */
export class NodeSocket implements Socket {
  binaryType = "arraybuffer";
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  private stream: Duplex | undefined;
  private pending = Buffer.alloc(0);
  private parts: Buffer[] = [];
  private kind = 0;
  private ended = false;
  private sentClose = false;

  constructor(url: string, token: string | undefined) {
    const key = randomBytes(16).toString("base64");
    const headers: Record<string, string> = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": key,
    };
    if (token) headers["Authorization"] = `Bearer ${token}`;
    const send = url.startsWith("wss:") ? tlsRequest : plainRequest;
    const request = send(url.replace(/^ws/, "http"), { headers });
    request.on("upgrade", (answer, stream, head) => this.begin(key, answer, stream, head));
    request.on("response", (answer) => this.refuse(answer));
    request.on("error", (error) => this.fail(error.message));
    request.end();
  }

  send(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    this.stream?.write(masked(typeof data === "string" ? TEXT : BINARY, bytes));
  }

  close(): void {
    if (!this.stream || this.sentClose) return;
    this.sentClose = true;
    this.stream.write(masked(CLOSE, Buffer.from([0x03, 0xe8])));
    setTimeout(() => this.stream?.destroy(), 2000).unref(); // a server that never answers
  }

  private begin(key: string, answer: IncomingMessage, stream: Duplex, head: Buffer): void {
    const proof = createHash("sha1").update(key + GUID).digest("base64");
    if (answer.headers["sec-websocket-accept"] !== proof) {
      stream.destroy();
      return this.fail("the answer to the upgrade is not ours");
    }
    this.stream = stream;
    stream.on("error", (error) => this.end(1006, error.message));
    stream.on("close", () => this.end(1006, "the connection broke"));
    this.onopen?.();
    // Whoever waited for the opening has to set onmessage first: what came along with the answer would be lost.
    setImmediate(() => {
      stream.on("data", (data: Buffer) => this.receive(data));
      if (head.length > 0) this.receive(head);
    });
  }

  private refuse(answer: IncomingMessage): void {
    const parts: Buffer[] = [];
    answer.on("data", (part: Buffer) => parts.push(part));
    answer.on("end", () => this.fail(`${answer.statusCode} ${Buffer.concat(parts).toString().slice(0, 500)}`));
  }

  private fail(message: string): void {
    if (this.stream) return this.end(1006, message);
    this.onerror?.({ message });
  }

  private end(code: number, reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.onclose?.({ code, reason });
    this.stream?.destroy();
  }

  private receive(data: Buffer): void {
    this.pending = Buffer.concat([this.pending, data]);
    try {
      for (let frame = parse(this.pending); frame && !this.ended; frame = parse(this.pending)) {
        this.pending = this.pending.subarray(frame.length);
        this.take(frame);
      }
    } catch (error) {
      this.end(1002, (error as Error).message);
    }
  }

  private take(frame: Frame): void {
    if (frame.opcode === PING) {
      this.stream?.write(masked(PONG, frame.data));
    } else if (frame.opcode === CLOSE) {
      if (!this.sentClose) this.stream?.write(masked(CLOSE, frame.data.subarray(0, 2)));
      this.end(frame.data.length >= 2 ? frame.data.readUInt16BE(0) : 1005, frame.data.subarray(2).toString());
    } else if (frame.opcode !== PONG) {
      this.message(frame);
    }
  }

  private message(frame: Frame): void {
    if (frame.opcode !== 0) this.kind = frame.opcode;
    this.parts.push(frame.data);
    if (this.parts.reduce((sum, part) => sum + part.length, 0) > MESSAGE_MAX) throw new Error("a message is too large");
    if (!frame.fin) return;
    const whole = Buffer.concat(this.parts);
    this.parts = [];
    const bytes = whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length);
    this.onmessage?.({ data: this.kind === TEXT ? whole.toString() : bytes });
  }
}
