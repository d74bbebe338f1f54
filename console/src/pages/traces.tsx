import type { JSX } from "preact";
import { api, type TraceRecord } from "../api.js";
import { clock, visible } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Table, useData, type Column } from "../ui.js";

export function Traces(): JSX.Element {
  const { query } = useSignal(route);
  const page = useData(
    (signal) => api.observabilityTraces({ limit: 500, ...(query.fn ? { functionId: query.fn } : {}) }, { signal }),
    [query.fn],
    5000,
  );
  const rows = page.data?.traces ?? [];
  const longest = Math.max(1, ...rows.map(({ duration }) => duration));
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
          <meter min={0} max={longest} value={t.duration} aria-label={`${t.duration} ms`} /> {t.duration} ms
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
