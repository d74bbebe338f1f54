import type { JSX } from "preact";
import { api, type TraceRecord } from "../api.js";
import { clock, visible } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Table, useData, type Column } from "../ui.js";

const SPAN_MS = 60_000;

/** When a call began and how long it took, on the same axis as the others around it. */
function Fall(props: { start: number; part: number; isError: boolean }): JSX.Element | null {
  if (props.start + props.part < 0) return null;
  const x = Math.max(0, props.start) * 100;
  return (
    <svg class="fall" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class={props.isError ? "error" : ""} x={Math.min(x, 99)} y={1} width={Math.max(1, Math.min(props.part * 100, 100 - x))} height={8} />
    </svg>
  );
}

export function Traces(): JSX.Element {
  const { query } = useSignal(route);
  const page = useData(
    (signal) => api.observabilityTraces({ limit: 500, ...(query.fn ? { functionId: query.fn } : {}) }, { signal }),
    [query.fn],
    5000,
  );
  const rows = page.data?.traces ?? [];
  const window = rows.filter((t) => t.timestamp >= (rows[0]?.timestamp ?? 0) - SPAN_MS); // what one picture can show
  const from = Math.min(...window.map((t) => t.timestamp - t.duration));
  const whole = Math.max(1, (rows[0]?.timestamp ?? 0) - from);
  const columns: readonly Column<TraceRecord>[] = [
    { name: "Time", sort: (t) => t.timestamp, show: (t) => clock(t.timestamp), narrow: true },
    {
      name: "Call",
      sort: (t) => t.functionId,
      show: (t) => (
        <button class="quiet name" onClick={() => setQuery({ fn: t.functionId })}>
          {visible(t.functionId)}
        </button>
      ),
    },
    { name: "Sandbox", show: (t) => t.sandboxId && <a href={href(["sandboxes", t.sandboxId])}>{t.sandboxId}</a>, minor: true },
    { name: "Status", sort: (t) => t.status, show: (t) => <span class={t.status === "error" ? "stderr" : ""}>{visible(t.error ?? t.status)}</span> },
    {
      name: "Took",
      sort: (t) => t.duration,
      show: (t) => (
        <>
          <Fall start={(t.timestamp - t.duration - from) / whole} part={t.duration / whole} isError={t.status === "error"} /> {t.duration} ms
        </>
      ),
    },
  ];
  return (
    <>
      <header class="page">
        <h1>Traces</h1>
        {query.fn && (
          <button onClick={() => setQuery({ fn: undefined })}>
            {visible(query.fn)} × 
          </button>
        )}
      </header>
      <Failure error={page.error} retry={page.reload} />
      {page.data && <Table label="Traces" rows={rows} columns={columns} keyOf={(t) => t.id} empty={<Empty title="No calls yet" />} />}
    </>
  );
}
