import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api.js";
import { SnapshotTable } from "../pages/snapshots.js";
import { Failure, attempt, useData } from "../ui.js";
import type { BoxProps } from "./box.js";

export function Snaps({ box, reload }: BoxProps): JSX.Element {
  const [name, setName] = useState("");
  const list = useData((signal) => api.snapshotList({ id: box.id }, { signal }), [box.id], 5000);
  const take = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await attempt("snapshot taken", () => api.snapshotCreate({ id: box.id, ...(name ? { name } : {}) }))) setName("");
    list.reload();
  };
  return (
    <>
      <form class="row" onSubmit={take}>
        <input aria-label="Name of the snapshot" placeholder="Name" value={name} onInput={(e) => setName(e.currentTarget.value)} />
        <button class="primary">Take a snapshot</button>
      </form>
      <Failure error={list.error} retry={list.reload} />
      {list.data && <SnapshotTable rows={list.data.snapshots} onChange={() => (list.reload(), reload())} />}
    </>
  );
}
