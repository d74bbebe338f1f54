import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, contentPath, download, proof, raw, type FileInfo } from "../api.js";
import { bytes, visible, when } from "../format.js";
import { route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Table, attempt, confirm, useData, type Column } from "../ui.js";
import type { BoxProps } from "./box.js";

const EDIT_MAX = 2 << 20; // larger files are shown in parts, without an editor
const PART = 256 << 10;
const PAGE = 1000;

const join = (folder: string, name: string): string => `${folder.replace(/\/+$/, "")}/${name}`;
const parent = (path: string): string => path.replace(/\/[^/]*\/?$/, "") || "/";

/** A file that the editor would choke on, part by part. */
function Viewer(props: { id: string; path: string; size: number }): JSX.Element {
  const [at, setAt] = useState(0);
  const part = useData(
    async (signal) => {
      const headers = { Range: `bytes=${at}-${Math.min(at + PART, props.size) - 1}` };
      return new TextDecoder().decode(await (await raw(contentPath(props.id, props.path), { headers, signal })).arrayBuffer());
    },
    [props.id, props.path, at],
  );
  return (
    <section>
      <div class="row">
        <button disabled={at === 0} onClick={() => setAt(Math.max(0, at - PART))}>
          Earlier
        </button>
        <span>
          {bytes(at)} to {bytes(Math.min(at + PART, props.size))} of {bytes(props.size)}
        </span>
        <button disabled={at + PART >= props.size} onClick={() => setAt(at + PART)}>
          Later
        </button>
        <button disabled={at + PART >= props.size} onClick={() => setAt(Math.max(0, props.size - PART))}>
          End
        </button>
      </div>
      <Failure error={part.error} retry={part.reload} />
      <pre class="viewer" tabIndex={0}>
        {part.data === undefined ? "Loading…" : part.data}
      </pre>
    </section>
  );
}

function Editor(props: { id: string; path: string }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const text = useRef("");
  const version = useRef("");
  const [isChanged, setChanged] = useState(false);
  const [error, setError] = useState<unknown>();
  const save = async (): Promise<void> => {
    const did = await attempt("saved", async () => {
      const headers: Record<string, string> = version.current ? { "If-Match": version.current } : {};
      const response = await raw(contentPath(props.id, props.path), { method: "PUT", headers, body: text.current });
      version.current = response.headers.get("etag") ?? "";
      if (!version.current) version.current = (await raw(contentPath(props.id, props.path), { method: "HEAD" })).headers.get("etag") ?? "";
    });
    if (did) setChanged(false);
  };
  useEffect(() => {
    let view: { destroy(): void } | undefined;
    let isGone = false;
    void (async () => {
      try {
        const [response, { editor }] = await Promise.all([raw(contentPath(props.id, props.path)), import("./editor.js")]);
        version.current = response.headers.get("etag") ?? "";
        text.current = await response.text();
        if (isGone || !ref.current) return;
        const keys = { "Mod-s": () => void save() };
        const kind = props.path.split(".").at(-1) ?? "";
        const onChange = (next: string): void => {
          text.current = next;
          setChanged(true);
        };
        view = editor({ parent: ref.current, text: text.current, kind, label: `Contents of ${props.path}`, keys, onChange });
      } catch (failure) {
        setError(failure);
      }
    })();
    return () => {
      isGone = true;
      view?.destroy();
    };
  }, [props.id, props.path]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (isChanged) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isChanged]);
  return (
    <section>
      <div class="row">
        <button class="primary" disabled={!isChanged} onClick={save}>
          Save
        </button>
        {isChanged && <span>not saved</span>}
      </div>
      <Failure error={error} />
      <div class="editor" ref={ref} />
    </section>
  );
}

/** Uploads what was dropped or chosen, and says how far it is. */
function upload(id: string, folder: string, file: File, onProgress: (part: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch tells nothing of an upload's progress
    request.open("PUT", contentPath(id, join(folder, file.name)));
    if (proof()) request.setRequestHeader("Iii-Session", proof());
    request.upload.onprogress = (event) => onProgress(event.loaded / Math.max(event.total, 1));
    request.onload = () => (request.status < 300 ? resolve() : reject(new Error(request.responseText)));
    request.onerror = () => reject(new Error(`${file.name}: the connection was lost`));
    request.send(file);
  });
}

export function Files({ box }: BoxProps): JSX.Element {
  const { query } = useSignal(route);
  const top = box.config.workdir || "/workspace"; // the API lists what is below it
  const folder = query.path || top;
  const open = query.file;
  const [progress, setProgress] = useState<string>();
  const list = useData((signal) => api.fsList({ id: box.id, path: folder, limit: PAGE }, { signal }), [box.id, folder], 5000);
  const shown = list.data?.find(({ path }) => path === open);
  const send = async (files: Iterable<File>): Promise<void> => {
    for (const file of files) {
      await attempt(`${file.name} is uploaded`, () => upload(box.id, folder, file, (part) => setProgress(`${file.name}: ${Math.round(part * 100)} %`)));
    }
    setProgress(undefined);
    list.reload();
  };
  const remove = async (file: FileInfo): Promise<void> => {
    if (!(await confirm(`Delete ${visible(file.name)}?`, file.isDirectory ? "And everything in it." : "There is no undo.", "Delete"))) return;
    await attempt(`${file.name} is deleted`, () =>
      file.isDirectory ? api.fsRmdir({ id: box.id, paths: [file.path] }) : api.fsDelete({ id: box.id, path: file.path }),
    );
    if (open === file.path) setQuery({ file: undefined });
    list.reload();
  };
  const columns: readonly Column<FileInfo>[] = [
    {
      name: "Name",
      sort: (f) => `${f.isDirectory ? 0 : 1}${f.name}`,
      show: (f) => (
        <button class="quiet name" onClick={() => setQuery(f.isDirectory ? { path: f.path, file: undefined } : { file: f.path })}>
          {f.isDirectory ? "▸ " : ""}
          {visible(f.name)}
        </button>
      ),
    },
    { name: "Size", sort: (f) => f.size, show: (f) => (f.isDirectory ? "" : bytes(f.size)), narrow: true },
    { name: "Changed", sort: (f) => f.modifiedAt, show: (f) => when(f.modifiedAt), narrow: true, minor: true },
    {
      name: "",
      show: (f) => (
        <>
          <button class="quiet" aria-label={`Download ${f.name}`} onClick={() => attempt("", () => download(box.id, f.path, f.isDirectory))}>
            ↓
          </button>
          <button class="quiet" aria-label={`Delete ${f.name}`} onClick={() => remove(f)}>
            ×
          </button>
        </>
      ),
      narrow: true,
    },
  ];
  return (
    <div
      class="split"
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        void send(Array.from(e.dataTransfer?.files ?? []));
      }}
    >
      <section>
        <div class="row">
          <button disabled={folder === top} onClick={() => setQuery({ path: parent(folder), file: undefined })}>
            Up
          </button>
          <code>{visible(folder)}</code>
          <label class="button">
            Upload
            <input type="file" multiple class="hidden" onChange={(e) => void send(Array.from(e.currentTarget.files ?? []))} />
          </label>
        </div>
        {progress && <p role="status">{visible(progress)}</p>}
        <Failure error={list.error} retry={list.reload} />
        {list.data && (
          <Table
            label="Files"
            rows={list.data}
            columns={columns}
            keyOf={(f) => f.path}
            empty={
              <Empty title="An empty folder">
                <p>Drop files here, or choose Upload.</p>
              </Empty>
            }
          />
        )}
        {list.data?.length === PAGE && <p>Only the first {PAGE} entries are shown.</p>}
      </section>
      {open && (
        <section>
          <h2>{visible(open)}</h2>
          {shown && shown.size > EDIT_MAX ? (
            <Viewer key={open} id={box.id} path={open} size={shown.size} />
          ) : (
            list.data && <Editor key={open} id={box.id} path={open} />
          )}
        </section>
      )}
    </div>
  );
}
