// The parts that every page is made of.
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { link, reasonOf } from "./api.js";
import { visible } from "./format.js";
import { signal, useSignal } from "./signal.js";

// --- data ---

export interface Loaded<T> {
  data: T | undefined;
  error: unknown;
  reload(): void;
}

/** What `load` gives, asked again every `everyMs` while the page is seen, and when `deps` change. */
export function useData<T>(load: (signal: AbortSignal) => Promise<T>, deps: unknown[], everyMs = 0): Loaded<T> {
  const [state, set] = useState<{ data?: T; error?: unknown; key: string }>({ key: "" });
  const [turn, bump] = useState(0);
  const isUp = useSignal(link) === "ok"; // back from a lost connection or a login: ask at once
  const key = JSON.stringify(deps);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const ask = async (): Promise<void> => {
      if (!document.hidden) {
        try {
          const data = await load(stop.signal);
          if (!stop.signal.aborted) set({ data, key });
        } catch (error) {
          if (!stop.signal.aborted) set((old) => ({ data: old.key === key ? old.data : undefined, error, key }));
        }
      }
      if (everyMs > 0 && !stop.signal.aborted) timer = window.setTimeout(ask, everyMs);
    };
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, turn, isUp]);
  const reload = useCallback(() => bump((n) => n + 1), []);
  return { data: state.key === key ? state.data : undefined, error: state.key === key ? state.error : undefined, reload };
}

/** Reads a stream until the component leaves; begins again after a pause when it breaks. */
export function useStream<T>(open: (signal: AbortSignal) => AsyncIterable<T>, deps: unknown[], take: (event: T) => void): void {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const stop = new AbortController();
    void (async () => {
      for (let pause = 500; !stop.signal.aborted; pause = Math.min(pause * 2, 10_000)) {
        try {
          for await (const event of open(stop.signal)) {
            pause = 500;
            latest.current(event);
          }
        } catch {
          // shown by the next request; the stream is opened again
        }
        if (!stop.signal.aborted) await new Promise((done) => setTimeout(done, pause));
      }
    })();
    return () => stop.abort();
  }, deps);
}

// --- messages ---

interface Message {
  readonly id: number;
  readonly kind: "good" | "bad";
  readonly text: string;
  readonly fix?: string;
}
const messages = signal<readonly Message[]>([]);
let messageId = 0;

function show(message: Omit<Message, "id">): void {
  const id = ++messageId;
  messages.value = [...messages.value.slice(-4), { ...message, id }];
  setTimeout(() => dismiss(id), message.kind === "good" ? 4000 : 15_000);
}
const dismiss = (id: number): void => {
  messages.value = messages.value.filter((message) => message.id !== id);
};

export function Messages(): JSX.Element {
  return (
    <div class="messages" role="status" aria-live="polite">
      {useSignal(messages).map((message) => (
        <div key={message.id} class={`message ${message.kind}`}>
          <span>
            {visible(message.text)}
            {message.fix && <small> {visible(message.fix)}</small>}
          </span>
          <button class="quiet" aria-label="Dismiss" onClick={() => dismiss(message.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}

/** Does `work` for each, a few at the same time: a browser holds the others up, and so does the server's rate. The first failure is thrown when all were tried. */
export async function forEach<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  const todo = items.values();
  const run = async (): Promise<void> => {
    for (const item of todo) await work(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: 6 }, run));
  if (failures.length > 0) throw failures[0];
}

/** Does it, and says how it went. Whether it went well. */
export async function attempt(what: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    if (what) show({ kind: "good", text: what });
    return true;
  } catch (error) {
    show({ kind: "bad", ...reasonOf(error) });
    return false;
  }
}

// --- dialogs ---

export function Dialog(props: { title: string; onClose(): void; wide?: boolean; children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} class={props.wide ? "wide" : ""} aria-label={props.title} onCancel={(e) => (e.preventDefault(), props.onClose())}>
      <header>
        <h2>{props.title}</h2>
        <button class="quiet" aria-label="Close" onClick={props.onClose}>
          ×
        </button>
      </header>
      {props.children}
    </dialog>
  );
}

interface Question {
  readonly title: string;
  readonly text: string;
  readonly verb: string;
  readonly answer: (yes: boolean) => void;
}
const question = signal<Question | undefined>(undefined);

/** Asks before something is lost. */
export function confirm(title: string, text: string, verb: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      title,
      text,
      verb,
      answer: (yes) => {
        question.value = undefined;
        resolve(yes);
      },
    };
  });
}

export function Confirmation(): JSX.Element | null {
  const asked = useSignal(question);
  if (!asked) return null;
  return (
    <Dialog title={asked.title} onClose={() => asked.answer(false)}>
      <p>{asked.text}</p>
      <footer>
        <button onClick={() => asked.answer(false)}>Cancel</button>
        <button class="danger" onClick={() => asked.answer(true)}>
          {asked.verb}
        </button>
      </footer>
    </Dialog>
  );
}

// --- small parts ---

export function Failure(props: { error: unknown; retry?: () => void }): JSX.Element | null {
  if (!props.error) return null;
  const { text, fix } = reasonOf(props.error);
  return (
    <div class="failure" role="alert">
      <strong>{visible(text)}</strong>
      {fix && <span>{visible(fix)}</span>}
      {props.retry && <button onClick={props.retry}>Try again</button>}
    </div>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h3>{props.title}</h3>
      {props.children}
    </div>
  );
}

export function Status(props: { status: string }): JSX.Element {
  return <span class={`status ${props.status.replace(/\W/g, "")}`}>{props.status}</span>;
}

export function Copy(props: { text: string; label?: string }): JSX.Element {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard?.writeText(props.text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button class="quiet" onClick={copy} aria-label={`Copy ${props.label ?? props.text}`}>
      {isDone ? "copied" : "copy"}
    </button>
  );
}

export function Field(props: { label: string; hint?: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.hint && <small>{props.hint}</small>}
    </label>
  );
}

export function Facts(props: { rows: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {props.rows
        .filter(([, value]) => value !== undefined && value !== "" && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

// --- tables ---

export interface Column<T> {
  readonly name: string;
  readonly show: (row: T) => ComponentChildren;
  readonly sort?: (row: T) => string | number;
  readonly narrow?: boolean;
  /** Left out on narrow screens. */
  readonly minor?: boolean;
}

const ROW_PX = 36;
const MARGIN_ROWS = 12;

interface TableProps<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  onOpen?: (row: T) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: Set<string>) => void;
  empty: ComponentChildren;
}

/** A table that draws only the rows that are seen: ten thousand scroll as ten do. */
export function Table<T>(props: TableProps<T>): JSX.Element {
  const { rows, columns, keyOf, selected, onSelect } = props;
  const [order, setOrder] = useState<{ by: number; down: boolean } | undefined>();
  const [view, setView] = useState({ top: 0, height: 600 });
  const ref = useRef<HTMLDivElement>(null);
  const by = order && columns[order.by]?.sort;
  const sorted = useMemo(() => {
    if (!by || !order) return rows;
    const keyed = rows.map((row) => ({ row, key: by(row) }));
    keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (order.down ? -1 : 1));
    return keyed.map(({ row }) => row);
  }, [rows, order]); // not when it is scrolled
  const measure = (): void => {
    const box = ref.current;
    if (!box) return;
    const [top, height] = [Math.floor(box.scrollTop / ROW_PX) * ROW_PX, box.clientHeight];
    setView((old) => (old.top === top && old.height === height ? old : { top, height }));
  };
  useLayoutEffect(measure, [rows.length]);
  useEffect(() => {
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  const from = Math.max(0, Math.floor(view.top / ROW_PX) - MARGIN_ROWS);
  const to = Math.min(sorted.length, Math.ceil((view.top + view.height) / ROW_PX) + MARGIN_ROWS);
  if (rows.length === 0) return <>{props.empty}</>;
  const toggle = (key: string): void => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onSelect?.(next);
  };
  const isAll = selected !== undefined && rows.length > 0 && rows.every((row) => selected.has(keyOf(row)));
  return (
    <div class="scroll" ref={ref} onScroll={measure} tabIndex={0} role="region" aria-label={props.label}>
      <table aria-rowcount={sorted.length}>
        <thead>
          <tr>
            {onSelect && (
              <th class="narrow">
                <input
                  type="checkbox"
                  aria-label="Select all"
                  checked={isAll}
                  onChange={() => onSelect(isAll ? new Set() : new Set(rows.map(keyOf)))}
                />
              </th>
            )}
            {columns.map((column, at) => {
              const direction = order?.by === at ? (order.down ? "descending" : "ascending") : "none";
              return (
                <th key={column.name} class={column.minor ? "minor" : ""} aria-sort={column.sort ? direction : undefined}>
                  {column.sort ? (
                    <button class="quiet" onClick={() => setOrder({ by: at, down: order?.by === at && !order.down })}>
                      {column.name}
                      {direction === "none" ? "" : order?.down ? " ↓" : " ↑"}
                    </button>
                  ) : (
                    column.name
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {from > 0 && <tr class="space" ref={(row) => void (row && (row.style.height = `${from * ROW_PX}px`))} />}
          {sorted.slice(from, to).map((row, i) => {
            const key = keyOf(row);
            return (
              <tr key={key} aria-rowindex={from + i + 1} class={selected?.has(key) ? "selected" : ""} onDblClick={() => props.onOpen?.(row)}>
                {onSelect && (
                  <td class="narrow">
                    <input type="checkbox" aria-label={`Select ${visible(key)}`} checked={selected?.has(key)} onChange={() => toggle(key)} />
                  </td>
                )}
                {columns.map((column) => (
                  <td key={column.name} class={`${column.narrow ? "narrow" : ""} ${column.minor ? "minor" : ""}`}>
                    {column.show(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {to < sorted.length && (
            <tr class="space" ref={(row) => void (row && (row.style.height = `${(sorted.length - to) * ROW_PX}px`))} />
          )}
        </tbody>
      </table>
    </div>
  );
}
