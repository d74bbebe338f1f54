import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api.js";
import { visible, when } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Facts, Failure, Table, useData, type Column } from "../ui.js";

interface Worker {
  readonly id: string;
  readonly name?: string | null;
  readonly status: string;
  readonly runtime?: string | null;
  readonly version?: string | null;
  readonly ip_address?: string | null;
  readonly function_count: number;
  readonly active_invocations: number;
  readonly connected_at_ms: number;
}
interface Fn {
  readonly function_id: string;
  readonly worker_name?: string | null;
  readonly description?: string | null;
  readonly request_schema?: Schema | null;
  readonly response_schema?: unknown;
  readonly registered_triggers?: readonly { id: string; trigger_type: string; config: unknown }[];
}
interface Schema {
  readonly properties?: Readonly<Record<string, { type?: string; description?: string }>>;
  readonly required?: readonly string[];
}
interface Binding {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly worker_name?: string | null;
  readonly config?: unknown;
}

const VIEWS = ["functions", "workers", "triggers"] as const;

/** What a function of the engine about the engine answers. */
async function ask<T>(functionId: string, payload: Record<string, unknown>, signal: AbortSignal): Promise<T> {
  return ((await api.functionCall({ functionId, payload }, { signal })).result ?? {}) as T;
}

/** A payload with the fields that the schema requires, to begin with. */
function example(schema: Schema | null | undefined): string {
  const empty: Readonly<Record<string, unknown>> = { string: "", integer: 0, number: 0, boolean: false, array: [], object: {} };
  const names = schema?.required ?? [];
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, empty[schema?.properties?.[name]?.type ?? "string"] ?? ""])), null, 2);
}

function CallIt({ fn }: { fn: Fn }): JSX.Element {
  const [payload, setPayload] = useState(() => example(fn.request_schema));
  const [state, setState] = useState<{ text?: string; error?: unknown; isRunning?: boolean }>({});
  const call = async (event: Event): Promise<void> => {
    event.preventDefault();
    setState({ isRunning: true });
    const began = performance.now();
    try {
      const given = JSON.parse(payload || "{}") as Record<string, unknown>;
      const { result } = await api.functionCall({ functionId: fn.function_id, payload: given, timeout: 120 });
      setState({ text: `${result === undefined ? "no result" : JSON.stringify(result, null, 2)}\n\n${Math.round(performance.now() - began)} ms` });
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <form onSubmit={call}>
      <label class="field">
        <span>Payload, JSON</span>
        <textarea rows={6} spellcheck={false} value={payload} onInput={(e) => setPayload(e.currentTarget.value)} />
      </label>
      <div class="row">
        <button class="primary" disabled={state.isRunning}>
          Call it
        </button>
        {state.isRunning && <span role="status">waits for its answer</span>}
      </div>
      <Failure error={state.error} />
      {state.text !== undefined && (
        <pre tabIndex={0} aria-label="Answer">
          {visible(state.text).replaceAll("\u240a", "\n")}
        </pre>
      )}
    </form>
  );
}

function Detail({ id }: { id: string }): JSX.Element {
  const found = useData((signal) => ask<Fn>("engine::functions::info", { function_id: id }, signal), [id]);
  const fn = found.data;
  const fields = Object.entries(fn?.request_schema?.properties ?? {});
  return (
    <section class="card" aria-label="Function">
      <h2>{visible(id)}</h2>
      <Failure error={found.error} retry={found.reload} />
      {fn && (
        <>
          <p>{visible(fn.description ?? "")}</p>
          <Facts
            rows={[
              ["Worker", visible(fn.worker_name ?? "")],
              ["Triggers", (fn.registered_triggers ?? []).map((t) => `${t.trigger_type} ${JSON.stringify(t.config)}`).map(visible).join(", ")],
              ["Calls", <a href={href(["traces"], { fn: id })}>traces</a>],
            ]}
          />
          {fields.length > 0 && (
            <table class="small">
              <caption>What it takes</caption>
              <tbody>
                {fields.map(([name, { type, description }]) => (
                  <tr key={name}>
                    <th scope="row">{visible(name)}</th>
                    <td>
                      {type} {fn.request_schema?.required?.includes(name) && <strong>required</strong>}
                    </td>
                    <td>{visible(description ?? "")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <CallIt key={id} fn={fn} />
        </>
      )}
    </section>
  );
}

const FUNCTIONS: readonly Column<Fn>[] = [
  { name: "Function", sort: (f) => f.function_id, show: (f) => <button class="quiet name" onClick={() => setQuery({ fn: f.function_id })}>{visible(f.function_id)}</button> },
  { name: "Worker", sort: (f) => f.worker_name ?? "", show: (f) => visible(f.worker_name ?? ""), narrow: true },
  { name: "Description", show: (f) => visible(f.description ?? ""), minor: true },
];
const WORKERS: readonly Column<Worker>[] = [
  { name: "Worker", sort: (w) => w.name ?? w.id, show: (w) => visible(w.name ?? w.id) },
  { name: "Status", sort: (w) => w.status, show: (w) => w.status, narrow: true },
  { name: "Runtime", show: (w) => visible(`${w.runtime ?? ""} ${w.version ?? ""}`), narrow: true, minor: true },
  { name: "Functions", sort: (w) => w.function_count, show: (w) => w.function_count, narrow: true },
  { name: "Running", sort: (w) => w.active_invocations, show: (w) => w.active_invocations, narrow: true },
  { name: "From", show: (w) => visible(w.ip_address ?? "this process"), narrow: true, minor: true },
  { name: "Connected", sort: (w) => w.connected_at_ms, show: (w) => when(w.connected_at_ms), narrow: true, minor: true },
];
const BINDINGS: readonly Column<Binding>[] = [
  { name: "Trigger", sort: (b) => b.trigger_type, show: (b) => visible(b.trigger_type), narrow: true },
  { name: "Function", sort: (b) => b.function_id, show: (b) => <a href={href(["engine"], { fn: b.function_id })}>{visible(b.function_id)}</a> },
  { name: "Settings", show: (b) => <code>{visible(JSON.stringify(b.config ?? {}))}</code> },
];

async function load(view: (typeof VIEWS)[number], signal: AbortSignal): Promise<{ functions?: Fn[]; workers?: Worker[]; triggers?: Binding[] }> {
  if (view === "functions") return ask("engine::functions::list", {}, signal);
  if (view === "workers") return ask("engine::workers::list", {}, signal);
  const found = await ask<Record<string, Binding[]>>("engine::registered-triggers::list", {}, signal);
  return { triggers: found.registered_triggers ?? [] };
}

/** Workers, functions and triggers of the engine. */
export function Engine(): JSX.Element {
  const { query } = useSignal(route);
  const view = VIEWS.find((one) => one === query.view) ?? "functions";
  const list = useData((signal) => load(view, signal), [view]); // not again and again: each look is a line of the audit log
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  return (
    <>
      <header class="page">
        <h1>Engine</h1>
        <div role="group" aria-label="Which">
          {VIEWS.map((one) => (
            <button key={one} aria-pressed={one === view} onClick={() => setQuery({ view: one === "functions" ? undefined : one, fn: undefined })}>
              {one}
            </button>
          ))}
        </div>
        <input type="search" aria-label="Filter" placeholder="Filter" value={query.q ?? ""} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
        <button onClick={list.reload}>Refresh</button>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {query.fn && <Detail key={query.fn} id={query.fn} />}
      {list.data?.functions && (
        <Table
          label="Functions"
          rows={list.data.functions.filter((f) => fits(`${f.function_id} ${f.worker_name ?? ""} ${f.description ?? ""}`))}
          columns={FUNCTIONS}
          keyOf={(f) => f.function_id}
          empty={<Empty title="No function matches" />}
        />
      )}
      {list.data?.workers && (
        <Table label="Workers" rows={list.data.workers.filter((w) => fits(`${w.name ?? ""} ${w.id} ${w.runtime ?? ""}`))} columns={WORKERS} keyOf={(w) => w.id} empty={<Empty title="No worker matches" />} />
      )}
      {list.data?.triggers && (
        <Table
          label="Triggers"
          rows={list.data.triggers.filter((b) => fits(`${b.trigger_type} ${b.function_id}`))}
          columns={BINDINGS}
          keyOf={(b) => b.id}
          empty={
            <Empty title="No triggers">
              <p>
                A worker binds its functions to triggers (http, cron, queues, state): see <a href="/docs">the documents of the engine</a>.
              </p>
            </Empty>
          }
        />
      )}
    </>
  );
}
