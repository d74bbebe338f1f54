import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type PortMapping, type Preview } from "../api.js";
import { Copy, Empty, Failure, Field, Table, attempt, useData, type Column } from "../ui.js";
import type { BoxProps } from "./box.js";

export function Ports({ box }: BoxProps): JSX.Element {
  const list = useData((signal) => api.portList({ id: box.id }, { signal }), [box.id], 3000);
  const [port, setPort] = useState("8000");
  const [preview, setPreview] = useState<Preview | undefined>();
  const show = (number: number) => (): Promise<boolean> =>
    attempt("", async () => setPreview(await api.previewOpen({ id: box.id, port: number, ttl: 3600 })));
  const columns: readonly Column<PortMapping>[] = [
    { name: "Port", sort: (p) => p.containerPort, show: (p) => `${p.containerPort}/${p.protocol}`, narrow: true },
    { name: "State", sort: (p) => p.state, show: (p) => p.state, narrow: true },
    { name: "Host port", sort: (p) => p.hostPort ?? 0, show: (p) => p.hostPort || "–", narrow: true },
    { name: "Address", show: (p) => (p.url ? <a href={p.url} target="_blank" rel="noopener noreferrer">{p.url}</a> : "") },
    {
      name: "",
      narrow: true,
      show: (p) => (
        <button class="quiet" onClick={show(p.containerPort)}>
          preview
        </button>
      ),
    },
  ];
  return (
    <>
      <form
        class="row"
        onSubmit={(e) => {
          e.preventDefault();
          void show(Number(port))();
        }}
      >
        <Field label="Port inside">
          <input type="number" min={1} max={65535} required value={port} onInput={(e) => setPort(e.currentTarget.value)} />
        </Field>
        <button class="primary">Preview</button>
        <button type="button" onClick={() => attempt("exposed", () => api.portExpose({ id: box.id, containerPort: Number(port) })).then(list.reload)}>
          Expose on the host
        </button>
      </form>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Ports"
          rows={list.data.ports}
          columns={columns}
          keyOf={(p) => `${p.containerPort}/${p.protocol}`}
          empty={
            <Empty title="No ports">
              <p>
                Start a server in the sandbox, for example <code>python3 -m http.server</code>, and preview its port. Nothing needs to be exposed for that.
              </p>
            </Empty>
          }
        />
      )}
      {preview && (
        <section class="preview">
          <div class="row">
            <a href={preview.signedUrl ?? preview.url} target="_blank" rel="noopener noreferrer">
              {preview.url}
            </a>
            <Copy text={preview.url} label="the address" />
            <button class="quiet" onClick={() => setPreview(undefined)}>
              close
            </button>
          </div>
          <iframe
            title={`Preview of port ${preview.port}`}
            src={preview.signedUrl ?? preview.url}
            sandbox="allow-scripts allow-forms allow-same-origin allow-popups"
            referrerpolicy="no-referrer"
          />
        </section>
      )}
    </>
  );
}
