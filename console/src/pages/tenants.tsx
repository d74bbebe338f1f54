import type { JSX } from "preact";
import { api, type Token } from "../api.js";
import { visible } from "../format.js";
import { href } from "../route.js";
import { Empty, Failure, Table, useData, type Column } from "../ui.js";

interface Tenant {
  readonly name: string;
  readonly tokens: readonly Token[];
  readonly usage: Readonly<Record<string, number>>;
  /** Of each kind, the lowest that one of its tokens has. */
  readonly quota: Readonly<Record<string, number>>;
}

function byTenant(tokens: readonly Token[]): Tenant[] {
  const found = new Map<string, Token[]>();
  for (const token of tokens.filter(({ tenant, revoked }) => tenant && tenant !== "*" && !revoked)) {
    found.set(token.tenant!, [...(found.get(token.tenant!) ?? []), token]);
  }
  return [...found].map(([name, own]) => {
    const quota: Record<string, number> = {};
    for (const token of own) for (const [kind, limit] of Object.entries(token.quota)) quota[kind] = Math.min(limit, quota[kind] ?? Infinity);
    return { name, tokens: own, usage: own.find(({ usage }) => usage)?.usage ?? {}, quota };
  });
}

const KINDS = [
  ["sandboxes", "Sandboxes"],
  ["memoryMb", "Memory, MB"],
  ["cpus", "CPUs"],
  ["diskMb", "Disk, MB"],
  ["volumes", "Volumes"],
  ["snapshots", "Snapshots"],
  ["ports", "Ports"],
  ["webhooks", "Webhooks"],
] as const;

/** What a tenant uses of what its tokens allow it. */
function Use(props: { tenant: Tenant; kind: string; text: string }): JSX.Element {
  const used = props.tenant.usage[props.kind] ?? 0;
  const limit = props.tenant.quota[props.kind];
  if (limit === undefined) return <>{used}</>;
  return (
    <>
      <meter min={0} max={limit} high={limit * 0.9} value={used} aria-label={`${props.text} of ${visible(props.tenant.name)}`} /> {used} of {limit}
    </>
  );
}

const COLUMNS: readonly Column<Tenant>[] = [
  { name: "Tenant", sort: (t) => t.name, show: (t) => visible(t.name) },
  { name: "Tokens", sort: (t) => t.tokens.length, show: (t) => <a href={href(["tokens"], { q: t.name })}>{t.tokens.length}</a>, narrow: true },
  ...KINDS.map(([kind, text], i) => ({
    name: text,
    sort: (t: Tenant) => t.usage[kind] ?? 0,
    show: (t: Tenant) => <Use tenant={t} kind={kind} text={text} />,
    narrow: true,
    minor: i > 1,
  })),
];

export function Tenants(): JSX.Element {
  const list = useData((signal) => api.tokenList({ signal }), [], 10_000);
  return (
    <>
      <header class="page">
        <h1>Tenants</h1>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Tenants"
          rows={byTenant(list.data.tokens)}
          columns={COLUMNS}
          keyOf={(t) => t.name}
          empty={
            <Empty title="No tenants">
              <p>
                A tenant has its own sandboxes, and limits by its tokens' quotas: <code>iii token create ci --tenant ci --quota sandboxes=5</code>
              </p>
            </Empty>
          }
        />
      )}
    </>
  );
}
