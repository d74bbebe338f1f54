import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { api, type Backend } from "../api.js";
import { clock, visible } from "../format.js";
import { Plot } from "../plot.js";
import { href } from "../route.js";
import { Copy, Failure, Facts, useData } from "../ui.js";

const KEEP = 120;

interface Sample {
  readonly time: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly creates: number;
  readonly execs: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}
const STATUSES = ["running", "paused", "stopped", "hibernated"] as const;

const EXECS = ["cmd::run", "cmd::run-stream", "sandbox::exec", "interp::context-execute"];

/** Figures of the server from now on, as rates where they only count. */
function useSamples(): { samples: readonly Sample[]; error: unknown } {
  const kept = useRef<{ last?: { at: number; creates: number; execs: number }; samples: Sample[] }>({ samples: [] });
  const figures = useData(
    async (signal) => {
      const [global, calls] = await Promise.all([api.metricsGlobal({ signal }), api.observabilityMetrics({ signal }).catch(() => undefined)]);
      const at = Date.now();
      const execs = EXECS.reduce((sum, name) => sum + (calls?.functionCounts[name] ?? 0), 0);
      const { last, samples } = kept.current;
      const seconds = last ? Math.max((at - last.at) / 1000, 0.001) : 1;
      const rate = (now: number, before: number): number => Math.round(Math.max(0, (now - before) / seconds) * 10) / 10;
      const sample = {
        time: at / 1000,
        statuses: global.statuses ?? { running: global.activeSandboxes },
        creates: last ? rate(global.totalCreated, last.creates) : 0,
        execs: last ? rate(execs, last.execs) : 0,
        p50: calls?.p50Duration ?? 0,
        p95: calls?.p95Duration ?? 0,
        p99: calls?.p99Duration ?? 0,
      };
      kept.current = { last: { at, creates: global.totalCreated, execs }, samples: [...samples.slice(1 - KEEP), sample] };
      return global;
    },
    [],
    2000,
  );
  return { samples: kept.current.samples, error: figures.error };
}

/** What the backends cannot do here, and why. */
function Lacks({ backends }: { backends: readonly Backend[] }): JSX.Element | null {
  const rows = backends.flatMap(({ name, lacks }) => Object.entries(lacks).map(([what, why]) => ({ key: `${name} ${what}`, text: `${name}, ${what}: ${why}` })));
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>What backends cannot do here: {rows.length}</summary>
      <ul>
        {rows.map(({ key, text }) => (
          <li key={key}>{visible(text)}</li>
        ))}
      </ul>
    </details>
  );
}

function HealthCard({ backends }: { backends: readonly Backend[] }): JSX.Element {
  const health = useData((signal) => api.health({ signal }), [], 5000);
  const problems = [...(health.data?.problems ?? []), ...(health.data?.missing ?? [])];
  return (
    <section class="card">
      <h2>Health</h2>
      <Failure error={health.error} retry={health.reload} />
      {health.data && <p class={`verdict ${health.data.status}`}>The server is {health.data.status}.</p>}
      <ul>
        {problems.map((text) => (
          <li key={text}>{visible(text)}</li>
        ))}
      </ul>
      {health.data && problems.length === 0 && <p>No findings.</p>}
      <Lacks backends={backends} />
      <p>
        <code>iii doctor</code> on the server's host checks more, and says what to do. <Copy text="iii doctor" />
      </p>
    </section>
  );
}

function Recent(): JSX.Element {
  const page = useData((signal) => api.eventHistory({ limit: 12 }, { signal }), [], 3000);
  return (
    <section class="card">
      <h2>
        Recent events <a href={href(["events"])}>all</a>
      </h2>
      <Failure error={page.error} retry={page.reload} />
      <ul class="plain">
        {(page.data?.events ?? []).map((event) => (
          <li key={event.id}>
            <time>{clock(event.timestamp)}</time> {visible(event.topic)}{" "}
            {event.sandboxId && <a href={href(["sandboxes", event.sandboxId])}>{event.sandboxId}</a>}
          </li>
        ))}
      </ul>
      {page.data?.events.length === 0 && <p>Nothing has happened yet.</p>}
    </section>
  );
}

export function Overview(): JSX.Element {
  const { samples, error } = useSamples();
  const global = useData((signal) => api.metricsGlobal({ signal }), [], 5000);
  const times = samples.map(({ time }) => time);
  return (
    <>
      <header class="page">
        <h1>Overview</h1>
        <a class="button primary" href={href(["sandboxes"], { create: "1" })}>
          Create a sandbox
        </a>
      </header>
      <Failure error={error} />
      <div class="cards">
        <HealthCard backends={global.data?.backends ?? []} />
        <section class="card">
          <h2>Since the start</h2>
          {global.data && (
            <Facts
              rows={[
                [
                  "Sandboxes now",
                  <>
                    {global.data.activeSandboxes}
                    {Object.entries(global.data.statuses ?? {}).map(([name, n]) => (
                      <>
                        {", "}
                        <a href={href(["sandboxes"], { q: name })}>
                          {n} {name}
                        </a>
                      </>
                    ))}
                  </>,
                ],
                ["Created", global.data.totalCreated],
                ["Killed", global.data.totalKilled],
                ["Expired", global.data.totalExpired],
                ["Up", `${Math.floor(global.data.uptimeSeconds / 60)} min`],
                ["Backends", global.data.backends.map(({ name }) => name).join(", ")],
              ]}
            />
          )}
        </section>
        <section class="card">
          <Plot title="Sandboxes" times={times} lines={STATUSES.map((name) => ({ name, values: samples.map((s) => s.statuses[name] ?? 0) }))} />
        </section>
        <section class="card">
          <Plot
            title="Per second"
            times={times}
            lines={[
              { name: "creates", values: samples.map((s) => s.creates) },
              { name: "commands", values: samples.map((s) => s.execs) },
            ]}
          />
        </section>
        <section class="card">
          <Plot title="Time of calls" unit=" ms" times={times} lines={(["p50", "p95", "p99"] as const).map((name) => ({ name, values: samples.map((s) => s[name]) }))} />
        </section>
        <Recent />
      </div>
    </>
  );
}
