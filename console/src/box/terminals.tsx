import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { api, proof } from "../api.js";
import { route, setQuery } from "../route.js";
import { withSheets } from "../sheets.js";
import { useSignal } from "../signal.js";
import { Failure, attempt } from "../ui.js";
import type { BoxProps } from "./box.js";

const HIGH_WATER = 1 << 17; // bytes that xterm has not drawn yet: of what comes past it only the end is drawn
const LATE_MAX = 1 << 14; // so much of it

/** The end of what is to be drawn later, from the beginning of a line. */
function endOf(before: Uint8Array | undefined, bytes: Uint8Array): Uint8Array {
  const joined = new Uint8Array((before?.length ?? 0) + bytes.length);
  if (before) joined.set(before);
  joined.set(bytes, before?.length ?? 0);
  if (joined.length <= LATE_MAX) return joined;
  const end = joined.subarray(joined.length - LATE_MAX);
  return end.slice(end.indexOf(10) + 1);
}

/** One session on the screen. It is attached again when the connection breaks; the server sends what was missed. */
function Screen(props: { id: string; session: string; find: string; onEnd(): void }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const search = useRef<SearchAddon | undefined>(undefined);
  const [state, setState] = useState("connecting");
  useEffect(() => {
    const box = ref.current!;
    const style = getComputedStyle(box);
    const term = new Terminal({
      cursorBlink: true,
      fontFamily: "ui-monospace, monospace",
      fontSize: 14,
      scrollback: 10_000,
      screenReaderMode: true,
      theme: { background: style.getPropertyValue("--terminal").trim(), foreground: style.getPropertyValue("--terminal-text").trim() },
    });
    const fit = new FitAddon();
    search.current = new SearchAddon();
    term.loadAddon(fit);
    term.loadAddon(search.current);
    term.loadAddon(new WebLinksAddon());
    const dropSheets = withSheets(() => term.open(box));
    let socket: WebSocket | undefined;
    let isGone = false;
    let pending = 0;
    let late: Uint8Array | undefined; // a flood: the screen shows its end, so that keys are not held up by what flies by
    const draw = (bytes: Uint8Array): void => {
      pending += bytes.length;
      term.write(bytes, () => {
        pending -= bytes.length;
        if (!late || pending > HIGH_WATER / 2) return;
        const rest = late;
        late = undefined;
        draw(rest);
      });
    };
    const send = (text: string): void => {
      if (socket?.readyState !== WebSocket.OPEN) return;
      const data = new TextEncoder().encode(text);
      for (let at = 0; at < data.length; at += 32768) socket.send(data.subarray(at, at + 32768));
    };
    const resize = (): void => {
      fit.fit();
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "resize", cols: term.cols, rows: term.rows }));
    };
    const connect = (pause: number): void => {
      if (isGone) return;
      const base = location.origin.replace(/^http/, "ws");
      socket = new WebSocket(`${base}/sandbox/sandboxes/${encodeURIComponent(props.id)}/terminal/${encodeURIComponent(props.session)}/ws${proof() ? `?session=${proof()}` : ""}`);
      socket.binaryType = "arraybuffer";
      let isOpen = false;
      socket.onopen = () => {
        isOpen = true;
        setState("connected");
        late = undefined;
        term.reset(); // the server replays the session
        resize();
      };
      socket.onmessage = ({ data }) => {
        const bytes = typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data as ArrayBuffer);
        if (late || pending > HIGH_WATER) late = endOf(late, bytes);
        else draw(bytes);
      };
      socket.onclose = ({ reason }) => {
        if (isGone) return;
        if (/^exit \d+$/.test(reason)) {
          setState(`ended (${reason})`);
          props.onEnd();
          return;
        }
        setState("reconnecting");
        setTimeout(() => connect(Math.min(pause * 2, 5000)), isOpen ? 300 : pause);
      };
    };
    const typed = term.onData(send);
    const watcher = new ResizeObserver(resize);
    watcher.observe(box);
    connect(300);
    term.focus();
    return () => {
      isGone = true;
      watcher.disconnect();
      typed.dispose();
      socket?.close();
      term.dispose();
      dropSheets();
    };
  }, [props.id, props.session]);
  useEffect(() => void (props.find && search.current?.findNext(props.find)), [props.find]);
  return (
    <>
      {state !== "connected" && (
        <p class="lost" role="status">
          {state}
        </p>
      )}
      <div class="terminal" ref={ref} />
    </>
  );
}

/** The sessions that this tab has opened: the server has no list of them. */
function known(id: string): string[] {
  const found: unknown = JSON.parse(sessionStorage.getItem(`terminals-${id}`) ?? "[]");
  return Array.isArray(found) ? found.map(String) : [];
}

export function Terminals({ box }: BoxProps): JSX.Element {
  const { query } = useSignal(route);
  const [sessions, setSessions] = useState<string[]>(() => known(box.id));
  const [find, setFind] = useState("");
  const [error, setError] = useState<unknown>();
  const keep = (next: string[]): void => {
    sessionStorage.setItem(`terminals-${box.id}`, JSON.stringify(next));
    setSessions(next);
  };
  const open = async (): Promise<void> => {
    try {
      const made = await api.terminalCreate({ id: box.id, cols: 100, rows: 30 });
      keep([...known(box.id), made.sessionId]);
      setQuery({ session: made.sessionId });
      setError(undefined);
    } catch (failure) {
      setError(failure);
    }
  };
  const close = async (session: string): Promise<void> => {
    await attempt("", () => api.terminalClose({ id: box.id, sessionId: session }));
    const rest = known(box.id).filter((other) => other !== session);
    keep(rest);
    setQuery({ session: rest.at(-1) });
  };
  useEffect(() => {
    if (query.session && !sessions.includes(query.session)) keep([...sessions, query.session]);
    else if (sessions.length === 0) void open();
  }, []);
  const current = query.session ?? sessions.at(-1);
  return (
    <section class="terminals">
      <div class="row">
        {sessions.map((session, i) => (
          <span key={session} class="chip">
            <button aria-pressed={session === current} onClick={() => setQuery({ session })}>
              Terminal {i + 1}
            </button>
            <button class="quiet" aria-label={`Close terminal ${i + 1}`} onClick={() => close(session)}>
              ×
            </button>
          </span>
        ))}
        <button onClick={open}>New terminal</button>
        <input type="search" aria-label="Search in the terminal" placeholder="Search" value={find} onInput={(e) => setFind(e.currentTarget.value)} />
      </div>
      <Failure error={error} retry={open} />
      {current && <Screen key={current} id={box.id} session={current} find={find} onEnd={() => undefined} />}
    </section>
  );
}
