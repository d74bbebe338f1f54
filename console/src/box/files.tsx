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
        view = editor({ parent: ref.current, text: text.current, kind, label: `Contents of ${visible(props.path)}`, keys, onChange });
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

/** The file as a snapshot has it: read from a sandbox that is made from the snapshot and deleted again. "" when it has none. */
async function readFromSnapshot(snapshotId: string, path: string): Promise<string> {
  const copy = await api.snapshotClone({ snapshotId });
  try {
    const [found] = await api.fsInfo({ id: copy.id, paths: [path] }).then((all) => (Array.isArray(all) ? all : [all])).catch(() => []);
    if (!found) return "";
    if (found.size > EDIT_MAX) throw new Error(`${path} has ${bytes(found.size)} in the snapshot: files up to ${bytes(EDIT_MAX)} can be compared`);
    return await (await raw(contentPath(copy.id, path))).text();
  } finally {
    await api.sandboxKill({ id: copy.id });
  }
}

/** What changed in a file since a snapshot. */
function Changes(props: { id: string; path: string; snapshotId: string }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<{ error?: unknown; text?: string }>({ text: "Reading the snapshot…" });
  useEffect(() => {
    let view: { destroy(): void } | undefined;
    let isGone = false;
    void (async () => {
      try {
        const now = raw(contentPath(props.id, props.path)).then((response) => response.text());
        const [text, original, { editor }] = await Promise.all([now, readFromSnapshot(props.snapshotId, props.path), import("./editor.js")]);
        if (isGone || !ref.current) return;
        setState({ text: text === original ? "No changes since the snapshot" : "Changes since the snapshot" });
        const kind = props.path.split(".").at(-1) ?? "";
        view = editor({ parent: ref.current, text, original, kind, label: `Changes of ${visible(props.path)}`, readOnly: true });
      } catch (error) {
        setState({ error });
      }
    })();
    return () => {
      isGone = true;
      view?.destroy();
    };
  }, [props.id, props.path, props.snapshotId]);
  return (
    <section>
      <Failure error={state.error} />
      {state.text && <p role="status">{state.text}</p>}
      <div class="editor" ref={ref} />
    </section>
  );
}

/** Which snapshot the file is compared with, in the URL. */
function Against({ id, chosen }: { id: string; chosen: string | undefined }): JSX.Element | null {
  const list = useData((signal) => api.snapshotList({ id }, { signal }), [id]);
  if (!list.data || list.data.snapshots.length === 0) return null;
  return (
    <label class="row">
      Compare with{" "}
      <select value={chosen ?? ""} onChange={(e) => setQuery({ against: e.currentTarget.value })}>
        <option value="">nothing</option>
        {list.data.snapshots.map((s) => (
          <option key={s.snapshotId} value={s.snapshotId}>
            {visible(s.name || s.snapshotId)}, {when(s.createdAt)}
          </option>
        ))}
      </select>
    </label>
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
          <button class="quiet" aria-label={`Download ${visible(f.name)}`} onClick={() => attempt("", () => download(box.id, f.path, f.isDirectory))}>
            ↓
          </button>
          <button class="quiet" aria-label={`Delete ${visible(f.name)}`} onClick={() => remove(f)}>
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
            list.data && (
              <>
                <Against id={box.id} chosen={query.against} />
                {query.against && <Changes key={`${open} ${query.against}`} id={box.id} path={open} snapshotId={query.against} />}
                <div hidden={Boolean(query.against)}>
                  <Editor key={open} id={box.id} path={open} />
                </div>
              </>
            )
          )}
        </section>
      )}
    </div>
  );
}
