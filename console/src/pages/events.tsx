import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type SandboxEvent } from "../api.js";
import { clock, visible } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Table, useData, useStream, type Column } from "../ui.js";

const KEEP = 2000;
const COLUMNS: readonly Column<SandboxEvent>[] = [
  { name: "Time", sort: (e) => e.timestamp, show: (e) => clock(e.timestamp), narrow: true },
  { name: "Event", sort: (e) => e.topic, show: (e) => visible(e.topic), narrow: true },
  { name: "Sandbox", sort: (e) => e.sandboxId, show: (e) => e.sandboxId && <a href={href(["sandboxes", e.sandboxId])}>{e.sandboxId}</a>, minor: true },
  { name: "Data", show: (e) => <code>{visible(JSON.stringify(e.data))}</code> },
];

/** What has happened, and what happens while one looks. */
export function EventList(props: { sandboxId?: string }): JSX.Element {
  const { query } = useSignal(route);
  const [live, setLive] = useState<readonly SandboxEvent[]>([]);
  const sandboxId = props.sandboxId;
  const page = useData((signal) => api.eventHistory({ limit: 200, ...(sandboxId ? { sandboxId } : {}) }, { signal }), [sandboxId]);
  useStream(
    (signal) => api.streamEvents({}, { signal }),
    [sandboxId],
    (event) => {
      if (!sandboxId || event.sandboxId === sandboxId) setLive((old) => [event, ...old].slice(0, KEEP));
    },
  );
  const known = new Set(live.map(({ id }) => id));
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...live, ...(page.data?.events ?? []).filter(({ id }) => !known.has(id))].filter((event) => {
    const text = `${event.topic} ${event.sandboxId} ${JSON.stringify(event.data)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <div class="row">
        <input type="search" aria-label="Filter" placeholder="Filter" value={query.q ?? ""} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
      </div>
      <Failure error={page.error} retry={page.reload} />
      {page.data && (
        <Table
          label="Events"
          rows={rows}
          columns={COLUMNS}
          keyOf={(e) => e.id}
          empty={
            <Empty title={words.length > 0 ? "No event matches" : "Nothing has happened yet"}>
              <p>Creates, commands, exits and alerts appear here at once.</p>
            </Empty>
          }
        />
      )}
    </>
  );
}

export function Events(): JSX.Element {
  return (
    <>
      <header class="page">
        <h1>Events</h1>
      </header>
      <EventList />
    </>
  );
}
