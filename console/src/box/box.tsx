import type { ComponentType, JSX } from "preact";
import { api, type SandboxInfo } from "../api.js";
import { visible, when } from "../format.js";
import { go, href, route } from "../route.js";
import { useSignal } from "../signal.js";
import { Copy, Failure, Status, attempt, confirm, useData } from "../ui.js";
import { About } from "./about.js";
import { Activity } from "./activity.js";
import { Alerts } from "./alerts.js";
import { Egress } from "./egress.js";
import { Files } from "./files.js";
import { Notebook } from "./notebook.js";
import { Ports } from "./ports.js";
import { Processes } from "./processes.js";
import { Queue } from "./queue.js";
import { Snaps } from "./snaps.js";
import { Terminals } from "./terminals.js";

export interface BoxProps {
  box: SandboxInfo;
  reload(): void;
}

const TABS: readonly { path: string; name: string; tab: ComponentType<BoxProps>; needsLife?: boolean }[] = [
  { path: "", name: "About", tab: About },
  { path: "terminal", name: "Terminal", tab: Terminals, needsLife: true },
  { path: "files", name: "Files", tab: Files, needsLife: true },
  { path: "notebook", name: "Notebook", tab: Notebook, needsLife: true },
  { path: "processes", name: "Processes", tab: Processes, needsLife: true },
  { path: "activity", name: "Events", tab: Activity },
  { path: "queue", name: "Queue", tab: Queue },
  { path: "egress", name: "Egress", tab: Egress },
  { path: "alerts", name: "Alerts", tab: Alerts },
  { path: "ports", name: "Ports", tab: Ports, needsLife: true },
  { path: "snapshots", name: "Snapshots", tab: Snaps },
];

function Actions({ box, reload }: BoxProps): JSX.Element {
  const run = (did: string, work: () => Promise<unknown>) => async (): Promise<void> => {
    await attempt(`${box.name || box.id} ${did}`, work);
    reload();
  };
  const remove = async (): Promise<void> => {
    if (!(await confirm(`Delete ${visible(box.name || box.id)}?`, "Its files and processes are gone for good.", "Delete"))) return;
    if (await attempt("deleted", () => api.sandboxKill({ id: box.id }))) go(["sandboxes"]);
  };
  const isLive = box.status === "running";
  return (
    <div role="group" aria-label="Actions">
      {isLive && <button onClick={run("paused", () => api.sandboxPause({ id: box.id }))}>Pause</button>}
      {!isLive && <button onClick={run("started", () => api.sandboxStart({ id: box.id }))}>Start</button>}
      {box.status !== "stopped" && <button onClick={run("stopped", () => api.sandboxStop({ id: box.id }))}>Stop</button>}
      <button
        onClick={() =>
          attempt("cloned", async () => {
            const copy = await api.sandboxClone({ id: box.id });
            go(["sandboxes", copy.id]);
          })
        }
      >
        Clone
      </button>
      <button class="danger" onClick={remove}>
        Delete
      </button>
    </div>
  );
}

export function Box(): JSX.Element {
  const { parts } = useSignal(route);
  const id = parts[1] ?? "";
  const found = useData((signal) => api.sandboxGet({ id }, { signal }), [id], 3000);
  const box = found.data;
  if (!box) {
    return found.error ? (
      <>
        <Failure error={found.error} retry={found.reload} />
        <a href={href(["sandboxes"])}>All sandboxes</a>
      </>
    ) : (
      <p class="loading">Loading…</p>
    );
  }
  const tab = TABS.find(({ path }) => path === (parts[2] ?? "")) ?? TABS[0]!;
  const isAsleep = tab.needsLife && box.status !== "running";
  return (
    <>
      <header class="page">
        <h1>{visible(box.name || box.id)}</h1>
        <Status status={box.status} />
        <small>
          {visible(box.image)} · expires {when(box.expiresAt)} · <code>{box.id}</code> <Copy text={box.id} label="the id" />
        </small>
        <Actions box={box} reload={found.reload} />
      </header>
      <Failure error={found.error} />
      <nav class="tabs" aria-label="Sandbox">
        {TABS.map(({ path, name }) => (
          <a key={path} href={href(["sandboxes", id, ...(path ? [path] : [])])} aria-current={tab.path === path ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {isAsleep ? (
        <div class="empty">
          <h3>The sandbox is {box.status}</h3>
          <p>
            <button class="primary" onClick={() => attempt("started", () => api.sandboxStart({ id: box.id })).then(found.reload)}>
              Start it
            </button>
          </p>
        </div>
      ) : (
        <tab.tab key={tab.path} box={box} reload={found.reload} />
      )}
    </>
  );
}
