import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { allSandboxes, api, type SandboxInfo } from "../api.js";
import { visible, when } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Status, Table, attempt, confirm, forEach, useData, type Column } from "../ui.js";
import { Create } from "./create.js";

const COLUMNS: readonly Column<SandboxInfo>[] = [
  { name: "Name", sort: (b) => b.name || b.id, show: (b) => <a href={href(["sandboxes", b.id])}>{visible(b.name || b.id)}</a> },
  { name: "Status", sort: (b) => b.status, show: (b) => <Status status={b.status} />, narrow: true },
  { name: "Image", sort: (b) => b.image, show: (b) => visible(b.image) },
  { name: "Memory", sort: (b) => b.config.memory ?? 0, show: (b) => `${b.config.memory ?? "–"} MB`, narrow: true, minor: true },
  { name: "CPU", sort: (b) => b.config.cpu ?? 0, show: (b) => b.config.cpu ?? "–", narrow: true, minor: true },
  { name: "Backend", sort: (b) => b.backend ?? "", show: (b) => b.backend ?? "", narrow: true, minor: true },
  { name: "Created", sort: (b) => b.createdAt, show: (b) => when(b.createdAt), narrow: true, minor: true },
  { name: "Expires", sort: (b) => b.expiresAt, show: (b) => when(b.expiresAt), narrow: true },
  { name: "Id", sort: (b) => b.id, show: (b) => <code>{b.id}</code>, minor: true },
];

async function all(signal: AbortSignal): Promise<SandboxInfo[]> {
  const rows: SandboxInfo[] = [];
  for await (const row of allSandboxes(signal)) rows.push(row);
  return rows;
}

type Action = { verb: string; did: string; run: (id: string) => Promise<unknown>; fits: (box: SandboxInfo) => boolean };
const ACTIONS: readonly Action[] = [
  { verb: "Pause", did: "paused", run: (id) => api.sandboxPause({ id }), fits: (b) => b.status === "running" },
  { verb: "Start", did: "started", run: (id) => api.sandboxStart({ id }), fits: (b) => b.status !== "running" },
  { verb: "Stop", did: "stopped", run: (id) => api.sandboxStop({ id }), fits: (b) => b.status !== "stopped" },
  { verb: "Delete", did: "deleted", run: (id) => api.sandboxKill({ id }), fits: () => true },
];

function textOf(box: SandboxInfo): string {
  return `${box.id} ${box.name} ${box.image} ${box.status} ${box.backend ?? ""} ${Object.entries(box.metadata).join(" ")}`.toLowerCase();
}

export function Sandboxes(): JSX.Element {
  const { query } = useSignal(route);
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const [everyMs, setEvery] = useState(3000);
  const list = useData(all, [], everyMs);
  const isLarge = (list.data?.length ?? 0) > 500; // many pages: asked for less often
  useEffect(() => setEvery(isLarge ? 20_000 : 3000), [isLarge]);
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const searched = useMemo(() => (list.data ?? []).map((box) => ({ box, text: textOf(box) })), [list.data]);
  const rows = useMemo(() => searched.filter(({ text }) => words.every((word) => text.includes(word))).map(({ box }) => box), [searched, query.q]);
  const chosen = useMemo(() => rows.filter((box) => selected.has(box.id)), [rows, selected]);
  const act = async ({ verb, did, run, fits }: Action): Promise<void> => {
    const those = chosen.filter(fits);
    const isFinal = verb === "Delete";
    if (isFinal && !(await confirm(`Delete ${those.length} sandboxes?`, "Their files and processes are gone for good.", "Delete"))) return;
    await attempt(`${those.length} ${did}`, () => forEach(those, ({ id }) => run(id)));
    if (isFinal) select(new Set());
    list.reload();
  };
  return (
    <>
      <header class="page">
        <h1>Sandboxes</h1>
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter by name, image, status, metadata"
          value={query.q ?? ""}
          onInput={(e) => setQuery({ q: e.currentTarget.value })}
        />
        {chosen.length > 0 && (
          <div role="group" aria-label="With the selected">
            <span>{chosen.length} selected</span>
            {ACTIONS.map((action) => (
              <button key={action.verb} class={action.verb === "Delete" ? "danger" : ""} disabled={!chosen.some(action.fits)} onClick={() => act(action)}>
                {action.verb}
              </button>
            ))}
          </div>
        )}
        <button class="primary" onClick={() => setQuery({ create: "1" })}>
          Create
        </button>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Sandboxes"
          rows={rows}
          columns={COLUMNS}
          keyOf={(box) => box.id}
          onOpen={(box) => (location.hash = href(["sandboxes", box.id]))}
          selected={selected}
          onSelect={select}
          empty={
            <Empty title={words.length > 0 ? "No sandbox matches" : "No sandboxes yet"}>
              {words.length === 0 && (
                <p>
                  <button class="primary" onClick={() => setQuery({ create: "1" })}>
                    Create the first
                  </button>{" "}
                  or, in a terminal, <code>iii run -it python</code>
                </p>
              )}
            </Empty>
          }
        />
      )}
      {query.create && <Create onClose={() => setQuery({ create: undefined })} onCreated={list.reload} />}
    </>
  );
}
