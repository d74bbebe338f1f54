import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type SandboxTemplate, type TemplateCreateConfig } from "../api.js";
import { visible } from "../format.js";
import { go } from "../route.js";
import { Dialog, Empty, Failure, Field, Table, attempt, confirm, useData, type Column } from "../ui.js";

function Make(props: { onClose(): void }): JSX.Element {
  const [name, setName] = useState("");
  const [config, setConfig] = useState('{\n  "image": "python",\n  "memory": 512\n}');
  const [error, setError] = useState<unknown>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await api.templateCreate({ name, config: JSON.parse(config) as TemplateCreateConfig });
      props.onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title="New template" onClose={props.onClose}>
      <form onSubmit={submit}>
        <Field label="Name">
          <input required value={name} onInput={(e) => setName(e.currentTarget.value)} />
        </Field>
        <Field label="Configuration, as of a create">
          <textarea rows={10} spellcheck={false} value={config} onInput={(e) => setConfig(e.currentTarget.value)} />
        </Field>
        <Failure error={error} />
        <footer>
          <button class="primary">Create</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function Templates(): JSX.Element {
  const list = useData((signal) => api.templateList({ signal }), [], 10_000);
  const [isMaking, setMaking] = useState(false);
  const start = (t: SandboxTemplate) => () => attempt("created", async () => go(["sandboxes", (await api.sandboxCreate({ template: t.id })).id]));
  const remove = async (t: SandboxTemplate): Promise<void> => {
    if (!(await confirm(`Delete ${visible(t.name)}?`, "Sandboxes made from it stay.", "Delete"))) return;
    await attempt("deleted", () => api.templateDelete({ id: t.id }));
    list.reload();
  };
  const columns: readonly Column<SandboxTemplate>[] = [
    { name: "Name", sort: (t) => t.name, show: (t) => visible(t.name) },
    { name: "Image", sort: (t) => t.config.image ?? "", show: (t) => visible(t.config.image ?? ""), narrow: true },
    { name: "Description", show: (t) => visible(t.description), minor: true },
    {
      name: "",
      narrow: true,
      show: (t) => (
        <>
          <button class="quiet" onClick={start(t)}>
            create a sandbox
          </button>
          {!t.builtin && (
            <button class="quiet" aria-label={`Delete ${visible(t.name)}`} onClick={() => remove(t)}>
              ×
            </button>
          )}
        </>
      ),
    },
  ];
  return (
    <>
      <header class="page">
        <h1>Templates</h1>
        <button class="primary" onClick={() => setMaking(true)}>
          New template
        </button>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && <Table label="Templates" rows={list.data.templates} columns={columns} keyOf={(t) => t.id} empty={<Empty title="No templates" />} />}
      {isMaking && <Make onClose={() => (setMaking(false), list.reload())} />}
    </>
  );
}
