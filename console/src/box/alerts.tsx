import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type AlertEvent, type ResourceAlert } from "../api.js";
import { clock, when } from "../format.js";
import { Empty, Failure, Table, attempt, confirm, useData, type Column } from "../ui.js";
import type { BoxProps } from "./box.js";

const METRICS = [
  ["cpu", "CPU, %"],
  ["memory", "memory, %"],
  ["pids", "processes"],
  ["deniedCalls", "denied system calls"],
] as const;
const ACTIONS = ["notify", "pause", "kill"] as const;

const HISTORY: readonly Column<AlertEvent>[] = [
  { name: "Time", sort: (e) => e.timestamp, show: (e) => clock(e.timestamp), narrow: true },
  { name: "Metric", sort: (e) => e.metric, show: (e) => e.metric, narrow: true },
  { name: "Value", sort: (e) => e.value, show: (e) => `${Math.round(e.value * 10) / 10}, at least ${e.threshold}` },
  { name: "Action", sort: (e) => e.action, show: (e) => e.action, narrow: true },
];

export function Alerts({ box }: BoxProps): JSX.Element {
  const list = useData((signal) => api.alertList({ id: box.id }, { signal }), [box.id], 4000);
  const history = useData((signal) => api.alertHistory({ id: box.id, limit: 200 }, { signal }), [box.id], 4000);
  const [metric, setMetric] = useState<(typeof METRICS)[number][0]>("memory");
  const [threshold, setThreshold] = useState("80");
  const [action, setAction] = useState<(typeof ACTIONS)[number]>("notify");
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    await attempt("the alert is set", () => api.alertSet({ id: box.id, metric, threshold: Number(threshold), action }));
    list.reload();
  };
  const remove = async (alert: ResourceAlert): Promise<void> => {
    if (!(await confirm("Delete the alert?", `${alert.metric} is no longer watched.`, "Delete"))) return;
    await attempt("deleted", () => api.alertDelete({ alertId: alert.id }));
    list.reload();
  };
  const columns: readonly Column<ResourceAlert>[] = [
    { name: "Metric", sort: (a) => a.metric, show: (a) => METRICS.find(([name]) => name === a.metric)?.[1] ?? a.metric },
    { name: "Threshold", sort: (a) => a.threshold, show: (a) => a.threshold, narrow: true },
    { name: "Action", sort: (a) => a.action, show: (a) => a.action, narrow: true },
    { name: "State", show: (a) => (a.triggered ? <span class="stderr">reached</span> : "below"), narrow: true },
    { name: "Last", sort: (a) => a.lastTriggered ?? 0, show: (a) => when(a.lastTriggered ?? 0), narrow: true, minor: true },
    {
      name: "",
      narrow: true,
      show: (a) => (
        <button class="quiet" aria-label={`Delete the alert on ${a.metric}`} onClick={() => remove(a)}>
          ×
        </button>
      ),
    },
  ];
  return (
    <>
      <form class="row" onSubmit={add}>
        <select aria-label="Metric" value={metric} onChange={(e) => setMetric(e.currentTarget.value as typeof metric)}>
          {METRICS.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
        <input aria-label="Threshold" type="number" min={0} required value={threshold} onInput={(e) => setThreshold(e.currentTarget.value)} />
        <select aria-label="Action" value={action} onChange={(e) => setAction(e.currentTarget.value as typeof action)}>
          {ACTIONS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <button class="primary">Set an alert</button>
      </form>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Alerts"
          rows={list.data.alerts}
          columns={columns}
          keyOf={(a) => a.id}
          empty={
            <Empty title="No alerts">
              <p>An alert watches one number of this sandbox and acts when it reaches its threshold. Set one above.</p>
            </Empty>
          }
        />
      )}
      <h2>History</h2>
      <Failure error={history.error} retry={history.reload} />
      {history.data && (
        <Table
          label="Alerts that fired"
          rows={history.data.events}
          columns={HISTORY}
          keyOf={(e) => `${e.alertId} ${e.timestamp}`}
          empty={<Empty title="None has fired yet" />}
        />
      )}
    </>
  );
}
