import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type SandboxMetrics } from "../api.js";
import { visible, when } from "../format.js";
import { Plot } from "../plot.js";
import { href } from "../route.js";
import { Empty, Facts, Failure, attempt, useData, useStream } from "../ui.js";
import type { BoxProps } from "./box.js";

const KEEP = 300;

function Live({ box }: BoxProps): JSX.Element {
  const [samples, set] = useState<readonly (SandboxMetrics & { time: number })[]>([]);
  useStream(
    (signal) => api.streamMetrics({ id: box.id }, { signal }),
    [box.id, box.status],
    (sample) => set((old) => [...old.slice(1 - KEEP), { ...sample, time: Date.now() / 1000 }]),
  );
  const times = samples.map(({ time }) => time);
  const last = samples.at(-1);
  return (
    <>
      <section class="card">
        <Plot title="CPU" unit=" %" times={times} lines={[{ name: "CPU", values: samples.map((s) => s.cpuPercent) }]} max={100} />
      </section>
      <section class="card">
        <Plot
          title={`Memory of ${last?.memoryLimitMb ?? "–"} MB`}
          unit=" MB"
          times={times}
          lines={[{ name: "memory", values: samples.map((s) => s.memoryUsageMb) }]}
          max={last?.memoryLimitMb}
        />
      </section>
      {last && (
        <section class="card">
          <h2>Now</h2>
          <Facts
            rows={[
              ["Processes", `${last.pids} of ${last.pidsLimit}`],
              ["Disk", `${last.diskUsageMb} MB${last.diskLimitMb ? ` of ${last.diskLimitMb}` : ""}`],
              ["Received", `${last.networkRxBytes} bytes`],
              ["Sent", `${last.networkTxBytes} bytes`],
              ["OOM kills", last.oomKills],
            ]}
          />
        </section>
      )}
    </>
  );
}

function Variables({ box }: BoxProps): JSX.Element {
  const list = useData((signal) => api.envList({ id: box.id }, { signal }), [box.id]);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await attempt(`${key} is set`, () => api.envSet({ id: box.id, vars: { [key]: value } }))) {
      setKey("");
      setValue("");
      list.reload();
    }
  };
  const names = Object.entries((list.data as { vars?: Record<string, string> } | undefined)?.vars ?? {});
  return (
    <section class="card">
      <h2>Environment</h2>
      <Failure error={list.error} retry={list.reload} />
      {names.length === 0 ? (
        <p>No variables beside the image's own.</p>
      ) : (
        <table class="small">
          <tbody>
            {names.map(([name, text]) => (
              <tr key={name}>
                <th scope="row">{visible(name)}</th>
                <td>{visible(text)}</td>
                <td class="narrow">
                  <button
                    class="quiet"
                    aria-label={`Delete ${visible(name)}`}
                    onClick={() => attempt(`${name} is deleted`, () => api.envDelete({ id: box.id, key: name })).then(list.reload)}
                  >
                    ×
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form class="row" onSubmit={add}>
        <input aria-label="Name" placeholder="NAME" required value={key} onInput={(e) => setKey(e.currentTarget.value)} />
        <input aria-label="Value" placeholder="value" value={value} onInput={(e) => setValue(e.currentTarget.value)} />
        <button>Set</button>
      </form>
    </section>
  );
}

export function About(props: BoxProps): JSX.Element {
  const { box } = props;
  const isRunning = box.status === "running";
  return (
    <div class="cards">
      <section class="card">
        <h2>Settings</h2>
        <Facts
          rows={[
            ["Image", visible(box.image)],
            ["Runs", visible(box.imageVersion ?? box.resolvedImage ?? "")],
            ["Digest", box.imageDigest && <code>{box.imageDigest}</code>],
            ["Backend", box.backend],
            ["Memory", `${box.config.memory} MB`],
            ["CPUs", box.config.cpu],
            ["Processes", box.config.pids],
            ["Disk", box.config.diskMb ? `${box.config.diskMb} MB` : "shares the host's"],
            ["Network", box.config.network ? "on, by egress policy" : "off"],
            ["Working folder", visible(box.config.workdir ?? "")],
            ["Created", when(box.createdAt)],
            ["Parent", box.parentId && <a href={href(["sandboxes", box.parentId])}>{box.parentId}</a>],
            ["Tenant", visible(box.tenant ?? "")],
            ["Stopped", box.stopReason && visible(box.stopReason)],
            ["Metadata", visible(Object.entries(box.metadata).map(([k, v]) => `${k}=${v}`).join(", "))],
          ]}
        />
      </section>
      {isRunning ? <Live {...props} /> : <Empty title={`No figures while it is ${box.status}`} />}
      {isRunning && <Variables {...props} />}
    </div>
  );
}
