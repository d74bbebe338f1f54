import { TerminalMethods } from "../generated/managers.js";
import { websockets } from "../generated/operations.js";
import { openSocket } from "../socket.js";
import { LiveTerminal } from "../live-terminal.js";

export interface TerminalOptions {
  cols?: number;
  rows?: number;
  shell?: string;
}

/** Shells on a real pseudo terminal. */
export class TerminalManager extends TerminalMethods {
  /** Connects to a session: its output and your keys, live. Several may be connected; all see the same. */
  async connect(sessionId: string): Promise<LiveTerminal> {
    const path = websockets.terminal
      .replace("{id}", encodeURIComponent(this.id))
      .replace("{sessionId}", encodeURIComponent(sessionId));
    return new LiveTerminal(await openSocket(this.api.http.getBaseUrl().replace(/^http/, "ws") + path, this.api.http.token));
  }

  /** A new session, and the connection to it. */
  async open(options: TerminalOptions = {}): Promise<LiveTerminal> {
    return this.connect((await this.create(options)).sessionId);
  }
}
