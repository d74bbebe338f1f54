import "./dispose.js";
import type { Socket } from "./socket.js";

export interface TerminalEnd {
  readonly code: number;
  readonly reason: string;
  /** Of the shell, when it ended by itself. */
  readonly exitCode: number | undefined;
}

/** A connection to a terminal. Iterate over it for the output; the loop ends with the session. */
export class LiveTerminal implements AsyncIterable<Uint8Array> {
  /** How it ended. */
  readonly ended: Promise<TerminalEnd>;
  private readonly output: Uint8Array[] = [];
  private wake: (() => void) | undefined;
  private isOver = false;

  constructor(private readonly socket: Socket) {
    socket.onmessage = ({ data }) => {
      this.output.push(typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data as ArrayBuffer));
      this.wake?.();
    };
    this.ended = new Promise((resolve) => {
      socket.onclose = ({ code, reason }) => {
        const exit = /^exit (\d+)$/.exec(reason);
        this.isOver = true;
        resolve({ code, reason, exitCode: exit ? Number(exit[1]) : undefined });
        this.wake?.();
      };
    });
  }

  /** Types: text, or bytes as they are. */
  write(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    for (let at = 0; at < bytes.length; at += 32768) this.socket.send(bytes.subarray(at, at + 32768));
  }

  resize(cols: number, rows: number): void {
    this.socket.send(JSON.stringify({ type: "resize", cols, rows }));
  }

  /** Reads until the output holds this text; the output so far, or undefined when the session ended first. */
  async readUntil(text: string): Promise<string | undefined> {
    const decoder = new TextDecoder();
    let seen = "";
    for await (const piece of this) {
      seen += decoder.decode(piece, { stream: true });
      if (seen.includes(text)) return seen;
    }
    return undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const piece = this.output.shift();
      if (piece) {
        yield piece;
      } else if (this.isOver) {
        return;
      } else {
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    }
  }

  /** Leaves; the session lives on. */
  async close(): Promise<void> {
    this.socket.close();
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
