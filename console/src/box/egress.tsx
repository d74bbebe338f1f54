import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type EgressFlow, type EgressPolicy, type EgressRule, type SandboxEvent } from "../api.js";
import { clock, visible, when } from "../format.js";
import { Empty, Failure, Table, attempt, useData, useStream, type Column } from "../ui.js";
import type { BoxProps } from "./box.js";

const FLOWS: readonly Column<EgressFlow>[] = [
  { name: "To", sort: (f) => f.name ?? f.address, show: (f) => visible(f.name ?? f.address) },
  { name: "Address", sort: (f) => f.address, show: (f) => `${f.address}:${f.port}`, narrow: true },
  { name: "Opened", sort: (f) => f.openedAt, show: (f) => when(f.openedAt), narrow: true },
];
const DENIED: readonly Column<SandboxEvent>[] = [
  { name: "Time", sort: (e) => e.timestamp, show: (e) => clock(e.timestamp), narrow: true },
  { name: "To", show: (e) => visible(`${e.data.name ?? e.data.address ?? ""}${e.data.port ? `:${e.data.port}` : ""}`) },
  { name: "Why", show: (e) => visible(String(e.data.reason ?? "")) },
];

const MAX_RULES = 64; // the form's; the server has its own limit

/** A rule as it is typed. */
interface Draft {
  readonly action: EgressRule["action"];
  readonly target: string;
  readonly ports: string;
}
const toDraft = ({ action, domain, cidr, ports }: EgressRule): Draft => ({ action, target: domain ?? cidr ?? "", ports: (ports ?? []).join(" ") });

function toRule({ action, target, ports }: Draft): EgressRule {
  const to = target.trim();
  const list = ports.split(/[\s,]+/).filter(Boolean);
  return {
    action,
    ...(to && (/^[\d./]+$/.test(to) ? { cidr: to } : { domain: to })),
    ...(list.length > 0 && { ports: list.map((one) => (/^\d+$/.test(one) ? Number(one) : one)) }),
  };
}

/** The policy as it is edited: nothing is sent before Save. */
function Policy(props: { policy: EgressPolicy; save(policy: { default: "allow" | "deny"; rules: EgressRule[] }): void }): JSX.Element {
  const [fallback, setFallback] = useState(props.policy.default);
  const [rules, setRules] = useState<readonly Draft[]>(() => props.policy.rules.map(toDraft));
  const change = (at: number, to: Partial<Draft>): void => setRules(rules.map((rule, i) => (i === at ? { ...rule, ...to } : rule)));
  const submit = (event: Event): void => {
    event.preventDefault();
    props.save({ default: fallback, rules: rules.map(toRule) });
  };
  return (
    <form class="card" onSubmit={submit}>
      <h2>Policy</h2>
      <p>The first rule that matches decides.</p>
      {rules.map((rule, at) => (
        <div class="row" key={at} role="group" aria-label={`Rule ${at + 1}`}>
          <select aria-label="Action" value={rule.action} onChange={(e) => change(at, { action: e.currentTarget.value as EgressRule["action"] })}>
            <option>allow</option>
            <option>deny</option>
          </select>
          <input aria-label="Name or range" placeholder="*.pypi.org or 10.0.0.0/8" value={rule.target} onInput={(e) => change(at, { target: e.currentTarget.value })} />
          <input aria-label="Ports" placeholder="all ports" value={rule.ports} onInput={(e) => change(at, { ports: e.currentTarget.value })} />
          <button type="button" class="quiet" aria-label={`Remove rule ${at + 1}`} onClick={() => setRules(rules.filter((_, i) => i !== at))}>
            ×
          </button>
        </div>
      ))}
      <div class="row">
        <label>
          Otherwise{" "}
          <select value={fallback} onChange={(e) => setFallback(e.currentTarget.value as EgressPolicy["default"])}>
            <option>allow</option>
            <option>deny</option>
          </select>
        </label>
        <button type="button" disabled={rules.length >= MAX_RULES} onClick={() => setRules([...rules, { action: "allow", target: "", ports: "" }])}>
          Add a rule
        </button>
        <button class="primary">Save</button>
        <small>Open connections that the new policy denies are closed.</small>
      </div>
    </form>
  );
}

export function Egress({ box }: BoxProps): JSX.Element {
  const now = useData((signal) => api.egressGet({ id: box.id }, { signal }), [box.id], 2000);
  const past = useData((signal) => api.eventHistory({ sandboxId: box.id, topic: "egress.denied", limit: 200 }, { signal }), [box.id], 5000);
  const [live, setLive] = useState<readonly SandboxEvent[]>([]);
  useStream(
    (signal) => api.streamEvents({}, { signal }),
    [box.id],
    (event) => {
      if (event.sandboxId === box.id && event.topic === "egress.denied") setLive((old) => [event, ...old].slice(0, 500));
    },
  );
  const save = (policy: { default: "allow" | "deny"; rules: EgressRule[] }) =>
    attempt("the policy is saved", () => api.egressSet({ id: box.id, ...policy })).then(now.reload);
  const known = new Set(live.map(({ id }) => id));
  const denied = [...live, ...(past.data?.events ?? []).filter(({ id }) => !known.has(id))];
  if (!box.config.network) {
    return (
      <Empty title="This sandbox has no network">
        <p>It reaches its own loopback alone. Choose “network” when you create a sandbox to open one.</p>
      </Empty>
    );
  }
  return (
    <>
      <Failure error={now.error} retry={now.reload} />
      {now.data && (
        <>
          {!now.data.active && <p class="lost">Egress is not active: the sandbox sleeps, or its redirect could not be opened.</p>}
          <Policy key={JSON.stringify([now.data.default, now.data.rules])} policy={now.data} save={save} />
          <h2>Open connections: {now.data.connections}</h2>
          <Table
            label="Open connections"
            rows={now.data.flows ?? []}
            columns={FLOWS}
            keyOf={(f) => `${f.address}:${f.port} ${f.openedAt}`}
            empty={<Empty title="No open connections" />}
          />
        </>
      )}
      <h2>Denied</h2>
      <Failure error={past.error} retry={past.reload} />
      {past.data && (
        <Table
          label="Denied"
          rows={denied}
          columns={DENIED}
          keyOf={(e) => e.id}
          empty={
            <Empty title="Nothing was denied">
              <p>Connections and lookups that the policy denies appear here at once.</p>
            </Empty>
          }
        />
      )}
    </>
  );
}
