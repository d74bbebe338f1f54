// Builds of images: the dialog that sends a context and shows its log, and what an image is made of.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, raw, reasonOf, type BuiltImageEvent } from "../api.js";
import { bytes, visible, when } from "../format.js";
import { href } from "../route.js";
import { Dialog, Facts, Failure, Field, Table, confirm, useData } from "../ui.js";
import { type Entry, packed } from "./tar.js";

const LOG_LINES = 2000; // older ones are dropped from the page
const EXAMPLE = "FROM shell\nRUN echo hello > /hello\n";

interface Line {
  readonly n: number;
  readonly kind: string;
  readonly text: string;
}

/** The events of a build, as they come. */
async function* events(path: string, body: Blob, signal: AbortSignal): AsyncGenerator<BuiltImageEvent, void, undefined> {
  const init = { method: "POST", body, signal, headers: { Accept: "text/event-stream", "Content-Type": "application/x-tar" } };
  const reader = (await raw(path, init)).body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as BuiltImageEvent;
  }
}

/** Names are relative to the folder that was chosen. */
const inFolder = (file: File): Entry => ({ name: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, data: file });

export function Build(props: { onClose(): void; onBuilt(): void }): JSX.Element {
  const [form, set] = useState({ name: "", dockerfile: "", target: "", args: "", noCache: false, network: false, text: EXAMPLE });
  const [files, setFiles] = useState<readonly File[]>([]);
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [state, setState] = useState<"ready" | "sending" | "building" | "done" | "failed">("ready");
  const [error, setError] = useState<unknown>();
  const stop = useRef<AbortController | undefined>(undefined);
  const log = useRef<HTMLPreElement>(null);
  const count = useRef(0);
  useEffect(() => () => stop.current?.abort(), []);
  useEffect(() => void log.current?.scrollTo(0, log.current.scrollHeight), [lines]);
  const isBusy = state === "sending" || state === "building";
  const add = (kind: string, text: string): void => {
    const more = text.replace(/\n$/, "").split("\n").map((one) => ({ n: count.current++, kind, text: visible(one) }));
    setLines((old) => [...old, ...more].slice(-LOG_LINES));
  };
  const take = ({ type, step, steps, text = "", data = "", done = 0, total = 0, error: why }: BuiltImageEvent): void => {
    if (type === "step") add("step", `step ${step}/${steps}: ${text}`);
    else if (type === "cached") add("note", "  from the cache");
    else if (type === "note") add("note", `  ${text}`);
    else if (type === "progress") add("note", `  pulling: ${bytes(done)} of ${bytes(total)}`);
    else if (type === "stdout" || type === "stderr") add(type, data);
    else if (type === "error") throw new Error(why);
  };
  const query = (): string => {
    const { name, dockerfile, target, args, noCache, network } = form;
    const buildArgs = Object.fromEntries(args.split("\n").filter((line) => line.includes("=")).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
    const given = { name, dockerfile: files.length > 0 ? dockerfile : "", target, buildArgs: Object.keys(buildArgs).length > 0 ? JSON.stringify(buildArgs) : "", noCache: noCache ? "true" : "", network: network ? "true" : "" };
    return String(new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "")));
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setLines([]);
    setError(undefined);
    setState("sending");
    const own = (stop.current = new AbortController());
    try {
      const [only] = files;
      const isArchive = files.length === 1 && only !== undefined && only.webkitRelativePath === "";
      const body = isArchive ? only : packed(files.length > 0 ? files.map(inFolder) : [{ name: "Dockerfile", data: new Blob([form.text]) }]);
      add("note", `sending ${bytes(body.size)}`);
      let isDone = false;
      for await (const one of events(`/sandbox/images/build?${query()}`, body, own.signal)) {
        setState("building");
        take(one);
        isDone = one.type === "done";
      }
      if (!isDone) throw new Error("the log ended before the build did");
      setState("done");
      props.onBuilt();
    } catch (failure) {
      setState("failed");
      if (own.signal.aborted) add("note", "cancelled");
      else setError(failure);
    }
  };
  const text = (key: "name" | "dockerfile" | "target" | "args" | "text") => ({
    value: form[key],
    disabled: isBusy,
    onInput: (e: { currentTarget: { value: string } }) => set({ ...form, [key]: e.currentTarget.value }),
  });
  const check = (key: "noCache" | "network") => ({ type: "checkbox" as const, checked: form[key], disabled: isBusy, onChange: () => set({ ...form, [key]: !form[key] }) });
  const close = async (): Promise<void> => {
    if (!isBusy || (await confirm("Cancel the build?", "What it has done so far stays in the cache.", "Cancel the build"))) props.onClose();
  };
  const choose = (e: { currentTarget: HTMLInputElement }): void => setFiles([...(e.currentTarget.files ?? [])]);
  return (
    <Dialog title="Build an image" onClose={close} wide>
      <form onSubmit={submit}>
        <div class="fields">
          <Field label="Name" hint="Of the image; it replaces one of that name">
            <input {...text("name")} required maxLength={255} placeholder="my-app:1" />
          </Field>
          <Field label="Folder" hint="With a Dockerfile; sent as it is">
            <input type="file" disabled={isBusy} onChange={choose} {...{ webkitdirectory: true }} />
          </Field>
          <Field label="Or an archive" hint="tar, plain, gzip or zstd">
            <input type="file" accept=".tar,.gz,.tgz,.zst" disabled={isBusy} onChange={choose} />
          </Field>
          <Field label="Stage" hint="The last one to build; empty: all">
            <input {...text("target")} />
          </Field>
          {files.length > 0 && (
            <Field label="Dockerfile" hint="Its path in what is sent">
              <input {...text("dockerfile")} placeholder="Dockerfile" />
            </Field>
          )}
          <Field label="Build arguments" hint="NAME=value, one on each line">
            <textarea {...text("args")} rows={2} />
          </Field>
          <label>
            <input {...check("noCache")} /> without the cache
          </label>
          <label>
            <input {...check("network")} /> steps may use the network
          </label>
        </div>
        {files.length === 0 && (
          <Field label="Or only a Dockerfile">
            <textarea {...text("text")} rows={6} spellcheck={false} />
          </Field>
        )}
        {lines.length > 0 && (
          <pre class="log" ref={log} tabIndex={0} role="log" aria-label="Log of the build">
            {lines.map(({ n, kind, text: line }) => (
              <div key={n} class={kind}>
                {line || " "}
              </div>
            ))}
          </pre>
        )}
        <Failure error={error} />
        {state === "done" && (
          <p role="status">
            Built: <a href={href(["images"], { name: form.name })}>{visible(form.name)}</a>
          </p>
        )}
        <footer>
          {isBusy ? (
            <button type="button" class="danger" onClick={() => stop.current?.abort()}>
              Cancel the build
            </button>
          ) : (
            <button type="button" onClick={props.onClose}>
              Close
            </button>
          )}
          <button class="primary" disabled={isBusy}>
            {isBusy ? "Building" : "Build"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface Layer {
  readonly key: string;
  readonly size: number;
  readonly by: string;
}

/** What an image is made of. */
export function Details(props: { name: string; onClose(): void }): JSX.Element {
  const { data, error } = useData((signal) => api.imageInspect({ name: props.name }, { signal }), [props.name]);
  const config = (data?.config ?? {}) as Record<string, unknown>;
  const history = (Array.isArray(config.history) ? config.history : []) as readonly { created_by?: string; empty_layer?: boolean }[];
  const makers = history.filter((entry) => !entry.empty_layer);
  const layers: readonly Layer[] = (data?.layers ?? []).map(({ digest, size }, i) => ({ key: digest, size, by: makers[i]?.created_by ?? "" }));
  const words = (value: unknown): string => (Array.isArray(value) ? visible(value.map(String).join(" ")) : typeof value === "string" ? visible(value) : "");
  return (
    <Dialog title={visible(props.name)} onClose={props.onClose} wide>
      <Failure error={error} />
      {data && (
        <>
          <Facts
            rows={[
              ["Disk", `${bytes(data.size)} in ${data.layers.length} layers`],
              ["Id", <code>{data.id}</code>],
              ["Created", when(data.createdAt)],
              ["Signed by", visible(data.signedBy ?? "")],
              ["Entrypoint", words(config.entrypoint)],
              ["Command", words(config.cmd)],
              ["User", words(config.user)],
              ["Folder", words(config.workdir)],
            ]}
          />
          <Table
            label="Layers"
            rows={layers}
            keyOf={(layer) => layer.key}
            columns={[
              { name: "Made by", show: (layer) => visible(layer.by) || "unknown" },
              { name: "Size", sort: (layer) => layer.size, show: (layer) => bytes(layer.size), narrow: true },
              { name: "Digest", show: (layer) => <code>{layer.key.slice(0, 12)}</code>, narrow: true, minor: true },
            ]}
            empty={<p>No layers.</p>}
          />
        </>
      )}
    </Dialog>
  );
}
