import type { JSX } from "preact";
import { allSandboxes, api, type SandboxInfo, type SnapshotInfo } from "../api.js";
import { bytes, visible, when } from "../format.js";
import { go, href } from "../route.js";
import { Empty, Failure, Table, attempt, confirm, useData, type Column } from "../ui.js";

export function SnapshotTable(props: { rows: readonly SnapshotInfo[]; onChange(): void }): JSX.Element {
  const clone = (s: SnapshotInfo) => () =>
    attempt("a sandbox from the snapshot", async () => go(["sandboxes", (await api.snapshotClone({ snapshotId: s.snapshotId })).id]));
  const restore = async (s: SnapshotInfo): Promise<void> => {
    if (!(await confirm("Restore the sandbox?", "It gets the snapshot's files; what changed since then is lost.", "Restore"))) return;
    await attempt("restored", () => api.snapshotRestore({ id: s.sandboxId, snapshotId: s.snapshotId }));
    props.onChange();
  };
  const remove = async (s: SnapshotInfo): Promise<void> => {
    if (!(await confirm(`Delete ${visible(s.name || s.snapshotId)}?`, "Sandboxes made from it keep their files.", "Delete"))) return;
    await attempt("deleted", () => api.snapshotDelete({ snapshotId: s.snapshotId }));
    props.onChange();
  };
  const columns: readonly Column<SnapshotInfo>[] = [
    { name: "Name", sort: (s) => s.name || s.snapshotId, show: (s) => visible(s.name || s.snapshotId) },
    { name: "Sandbox", sort: (s) => s.sandboxId, show: (s) => <a href={href(["sandboxes", s.sandboxId])}>{s.sandboxId}</a>, minor: true },
    { name: "Size", sort: (s) => s.size, show: (s) => bytes(s.size), narrow: true },
    { name: "Taken", sort: (s) => s.createdAt, show: (s) => when(s.createdAt), narrow: true },
    {
      name: "",
      narrow: true,
      show: (s) => (
        <>
          <button class="quiet" onClick={clone(s)}>
            clone
          </button>
          <button class="quiet" onClick={() => restore(s)}>
            restore
          </button>
          <button class="quiet" aria-label={`Delete ${visible(s.name || s.snapshotId)}`} onClick={() => remove(s)}>
            ×
          </button>
        </>
      ),
    },
  ];
  return (
    <Table
      label="Snapshots"
      rows={props.rows}
      columns={columns}
      keyOf={(s) => s.snapshotId}
      empty={
        <Empty title="No snapshots">
          <p>A snapshot keeps a sandbox's files; clones of it start in milliseconds. Take one on a sandbox's page.</p>
        </Empty>
      }
    />
  );
}

interface Branch {
  readonly box: SandboxInfo;
  readonly snapshots: readonly SnapshotInfo[];
}
const ASKED_MAX = 200;

/** Who came from whom: sandboxes below the sandbox that they were cloned from, with their snapshots. */
function Lineage(props: { branches: readonly Branch[]; of: string | undefined; depth: number }): JSX.Element | null {
  const here = props.branches.filter(({ box }) => {
    const isKnown = props.branches.some((other) => other.box.id === box.parentId);
    return props.of === undefined ? !isKnown : box.parentId === props.of;
  });
  if (here.length === 0 || props.depth > 20) return null;
  return (
    <ul class="lineage">
      {here.map(({ box, snapshots }) => (
        <li key={box.id}>
          <a href={href(["sandboxes", box.id])}>{visible(box.name || box.id)}</a> <small>{visible(box.image)}</small>
          {snapshots.length > 0 && <small> · {snapshots.map((s) => visible(s.name || s.snapshotId)).join(", ")}</small>}
          <Lineage branches={props.branches} of={box.id} depth={props.depth + 1} />
        </li>
      ))}
    </ul>
  );
}

export function Snapshots(): JSX.Element {
  const list = useData(
    async (signal) => {
      const branches: Branch[] = [];
      for await (const box of allSandboxes(signal)) {
        if (branches.length >= ASKED_MAX) break;
        branches.push({ box, snapshots: (await api.snapshotList({ id: box.id })).snapshots });
      }
      return branches;
    },
    [],
    15_000,
  );
  const rows = (list.data ?? []).flatMap(({ snapshots }) => snapshots);
  return (
    <>
      <header class="page">
        <h1>Snapshots</h1>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && <SnapshotTable rows={rows} onChange={list.reload} />}
      {list.data && list.data.length > 0 && (
        <section class="card">
          <h2>Lineage</h2>
          <Lineage branches={list.data} of={undefined} depth={0} />
          {list.data.length >= ASKED_MAX && <p>Only the first {ASKED_MAX} sandboxes are shown.</p>}
        </section>
      )}
    </>
  );
}
