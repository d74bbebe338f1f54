import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type SandboxVolume } from "../api.js";
import { visible, when } from "../format.js";
import { href } from "../route.js";
import { Dialog, Empty, Failure, Field, Table, attempt, confirm, useData, type Column } from "../ui.js";

function Attach(props: { volume: SandboxVolume; onClose(): void }): JSX.Element {
  const [sandboxId, setSandbox] = useState("");
  const [mountPath, setPath] = useState("/data");
  const boxes = useData((signal) => api.sandboxList({ status: "running", pageSize: 200 }, { signal }), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await attempt("attached", () => api.volumeAttach({ volumeId: props.volume.id, sandboxId, mountPath }))) props.onClose();
  };
  return (
    <Dialog title={`Attach ${visible(props.volume.name)}`} onClose={props.onClose}>
      <form onSubmit={submit}>
        <Field label="Sandbox">
          <select required value={sandboxId} onChange={(e) => setSandbox(e.currentTarget.value)}>
            <option value="">choose</option>
            {(boxes.data?.items ?? []).map((box) => (
              <option key={box.id} value={box.id}>
                {visible(box.name || box.id)}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Mounted at">
          <input required value={mountPath} onInput={(e) => setPath(e.currentTarget.value)} />
        </Field>
        <footer>
          <button class="primary">Attach</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function Volumes(): JSX.Element {
  const list = useData((signal) => api.volumeList({ signal }), [], 5000);
  const [name, setName] = useState("");
  const [attaching, setAttaching] = useState<SandboxVolume | undefined>();
  const create = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await attempt(`${name} is created`, () => api.volumeCreate({ name }))) setName("");
    list.reload();
  };
  const remove = async (volume: SandboxVolume): Promise<void> => {
    if (!(await confirm(`Delete ${visible(volume.name)}?`, "Its files are gone for good.", "Delete"))) return;
    await attempt("deleted", () => api.volumeDelete({ volumeId: volume.id }));
    list.reload();
  };
  const columns: readonly Column<SandboxVolume>[] = [
    { name: "Name", sort: (v) => v.name, show: (v) => visible(v.name) },
    { name: "Used", sort: (v) => v.usedMb ?? 0, show: (v) => `${v.usedMb ?? 0} of ${v.sizeMb ?? "–"} MB`, narrow: true },
    { name: "Attached to", show: (v) => v.sandboxId && <a href={href(["sandboxes", v.sandboxId])}>{v.sandboxId}</a> },
    { name: "At", show: (v) => visible(v.mountPath ?? ""), narrow: true, minor: true },
    { name: "Created", sort: (v) => v.createdAt, show: (v) => when(v.createdAt), narrow: true, minor: true },
    {
      name: "",
      narrow: true,
      show: (v) => (
        <>
          {v.sandboxId ? (
            <button class="quiet" onClick={() => attempt("detached", () => api.volumeDetach({ volumeId: v.id })).then(list.reload)}>
              detach
            </button>
          ) : (
            <button class="quiet" onClick={() => setAttaching(v)}>
              attach
            </button>
          )}
          <button class="quiet" aria-label={`Delete ${visible(v.name)}`} onClick={() => remove(v)}>
            ×
          </button>
        </>
      ),
    },
  ];
  return (
    <>
      <header class="page">
        <h1>Volumes</h1>
        <form class="row" onSubmit={create}>
          <input aria-label="Name of the volume" placeholder="Name" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
          <button class="primary">Create</button>
        </form>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Volumes"
          rows={list.data.volumes}
          columns={columns}
          keyOf={(v) => v.id}
          empty={
            <Empty title="No volumes">
              <p>A volume keeps files beyond the life of a sandbox. Create one above and attach it.</p>
            </Empty>
          }
        />
      )}
      {attaching && <Attach volume={attaching} onClose={() => (setAttaching(undefined), list.reload())} />}
    </>
  );
}
