import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, reasonOf, type ContextEvent, type RichResult } from "../api.js";
import { visible } from "../format.js";
import { Failure, attempt } from "../ui.js";
import type { BoxProps } from "./box.js";

type Language = "python" | "javascript";
interface Cell {
  readonly id: number;
  code: string;
  output: readonly ContextEvent[];
  state: "" | "running" | "done" | "failed";
}

const OUTPUT_MAX = 2000; // pieces of one cell

function Rich({ result }: { result: RichResult }): JSX.Element | null {
  const text = typeof result.data === "string" ? result.data : JSON.stringify(result.data, null, 2);
  if (result.type === "png" || result.type === "jpeg") return <img src={`data:image/${result.type};base64,${text}`} alt="Figure" />;
  // An untrusted picture or page: without scripts, without an origin.
  if (result.type === "svg") return <img src={`data:image/svg+xml,${encodeURIComponent(text)}`} alt="Figure" />;
  if (result.type === "html") return <iframe sandbox="" title="Result" srcDoc={text} />;
  return <pre>{text}</pre>;
}

/** A value comes in every form that it has: the richest is shown. */
const RANK = ["png", "jpeg", "svg", "html", "markdown", "json", "text"];

function Output({ events }: { events: readonly ContextEvent[] }): JSX.Element {
  const results = events.flatMap((event) => (event.type === "result" && event.result ? [event.result] : []));
  const best = RANK.find((type) => results.some((result) => result.type === type));
  const isPicture = best === "png" || best === "jpeg" || best === "svg";
  return (
    <div class="output" aria-live="polite">
      {events.map((event, i) => {
        if (event.type === "stdout" || event.type === "stderr") {
          return (
            <span key={i} class={event.type}>
              {event.data}
            </span>
          );
        }
        if (event.type === "error") {
          return (
            <pre key={i} class="stderr">
              {event.traceback?.length ? event.traceback.join("\n") : `${event.errorName}: ${event.errorValue}`}
            </pre>
          );
        }
        return null;
      })}
      {results
        .filter(({ type }) => type === best || (!isPicture && !RANK.includes(type)))
        .map((result, i) => (
          <Rich key={i} result={result} />
        ))}
    </div>
  );
}

function Code(props: { cell: Cell; language: Language; onRun(): void }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const run = useRef(props.onRun);
  run.current = props.onRun;
  useEffect(() => {
    let view: { destroy(): void; focus(): void } | undefined;
    let isGone = false;
    void import("./editor.js").then(({ editor }) => {
      if (isGone || !ref.current) return;
      const keys = { "Shift-Enter": () => run.current(), "Mod-Enter": () => run.current() };
      const onChange = (text: string): void => void (props.cell.code = text);
      view = editor({ parent: ref.current, text: props.cell.code, kind: props.language, label: `Cell ${props.cell.id}`, keys, onChange });
      view.focus();
    });
    return () => {
      isGone = true;
      view?.destroy();
    };
  }, [props.language]);
  return <div class="editor" ref={ref} />;
}

export function Notebook({ box }: BoxProps): JSX.Element {
  const [language, setLanguage] = useState<Language>(box.image.startsWith("node") ? "javascript" : "python");
  const [cells, setCells] = useState<readonly Cell[]>([{ id: 1, code: "", output: [], state: "" }]);
  const [packages, setPackages] = useState("");
  const [installing, setInstalling] = useState(false);
  const [error, setError] = useState<unknown>();
  const change = (id: number, to: (cell: Cell) => Partial<Cell>): void =>
    setCells((old) => old.map((cell) => (cell.id === id ? Object.assign({}, cell, to(cell)) : cell)));
  const run = async (id: number): Promise<void> => {
    const cell = cells.find((one) => one.id === id);
    if (!cell || cell.state === "running") return;
    const code = cell.code;
    change(id, () => ({ code, output: [], state: "running" }));
    setError(undefined);
    let state: Cell["state"] = "done";
    try {
      for await (const event of api.contextExecuteStream({ id: box.id, contextId: language, code })) {
        if (event.type === "error") state = "failed";
        if (event.type !== "end") change(id, ({ output }) => ({ output: [...output.slice(1 - OUTPUT_MAX), event] }));
      }
    } catch (failure) {
      state = "failed";
      setError(new Error(reasonOf(failure).text));
    }
    change(id, () => ({ code, state }));
    setCells((old) => (old.at(-1)?.id === id && state === "done" ? [...old, { id: id + 1, code: "", output: [], state: "" }] : old));
  };
  const install = async (event: Event): Promise<void> => {
    event.preventDefault();
    setInstalling(true);
    const names = packages.split(/[\s,]+/).filter(Boolean);
    const manager = language === "python" ? ("pip" as const) : ("npm" as const);
    if (await attempt(`${names.join(", ")} installed`, () => api.interpInstall({ id: box.id, packages: names, manager }))) setPackages("");
    setInstalling(false);
  };
  const isRunning = cells.some(({ state }) => state === "running");
  return (
    <section class="notebook">
      <div class="row">
        <label>
          Language{" "}
          <select value={language} onChange={(e) => setLanguage(e.currentTarget.value as Language)}>
            <option>python</option>
            <option>javascript</option>
          </select>
        </label>
        <button disabled={!isRunning} onClick={() => attempt("interrupted", () => api.contextInterrupt({ id: box.id, contextId: language }))}>
          Interrupt
        </button>
        <button onClick={() => attempt("restarted", () => api.contextRestart({ id: box.id, contextId: language }))}>Restart</button>
        <form class="row" onSubmit={install}>
          <input aria-label="Packages" placeholder="Packages" required value={packages} onInput={(e) => setPackages(e.currentTarget.value)} />
          <button disabled={installing}>{installing ? "Installing…" : "Install"}</button>
        </form>
      </div>
      <Failure error={error} />
      {cells.map((cell) => (
        <div key={cell.id} class={`cell ${cell.state}`}>
          <button aria-label={`Run cell ${cell.id}`} disabled={cell.state === "running"} onClick={() => run(cell.id)}>
            {cell.state === "running" ? "…" : "▶"}
          </button>
          <div>
            <Code cell={cell} language={language} onRun={() => void run(cell.id)} />
            <Output events={cell.output} />
          </div>
        </div>
      ))}
      <p>
        Shift+Enter runs a cell. Variables stay in the context <code>{visible(language)}</code> of this sandbox.
      </p>
    </section>
  );
}
