import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type AuditLine, type AuditListParams } from "../api.js";
import { visible } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Facts, Failure, Table, attempt, useData, type Column } from "../ui.js";

const FILTERS = [
  ["operation", "Operation", "sandbox::"],
  ["by", "Token", "name or id"],
  ["tenant", "Tenant", ""],
  ["status", "Status", "403"],
] as const;
const PAGE = 200;
const TYPING_MS = 400; // a look at the log reads its files: not for every key

const COLUMNS: readonly Column<AuditLine>[] = [
  { name: "Time", sort: (l) => l.time, show: (l) => new Date(l.time).toLocaleString(), narrow: true },
  { name: "Operation", sort: (l) => l.operation, show: (l) => <button class="quiet name" onClick={() => setQuery({ line: String(l.seq) })}>{visible(l.operation)}</button> },
  { name: "By", sort: (l) => l.name ?? "", show: (l) => visible(l.name ?? "–") },
  { name: "Tenant", sort: (l) => l.tenant ?? "", show: (l) => visible(l.tenant ?? ""), narrow: true, minor: true },
  { name: "Status", sort: (l) => l.status, show: (l) => <span class={l.status >= 400 ? "stderr" : ""}>{l.status || "begun"}</span>, narrow: true },
  { name: "Target", show: (l) => <code>{visible(Object.values(l.target ?? {}).join(" "))}</code>, minor: true },
];

function Line({ line }: { line: AuditLine }): JSX.Element {
  const text = (value: unknown): string => visible(typeof value === "string" ? value : JSON.stringify(value));
  return (
    <section class="card">
      <h2>Line {line.seq}</h2>
      <Facts rows={Object.entries(line).map(([name, value]) => [name, name === "time" ? new Date(line.time).toISOString() : text(value)] as const)} />
    </section>
  );
}

function Verdict(): JSX.Element {
  const [said, setSaid] = useState<{ isGood: boolean; text: string } | undefined>();
  const check = (): Promise<boolean> =>
    attempt("", async () => {
      setSaid(undefined);
      const found = await api.auditVerify();
      const range = `${found.lines} lines, ${found.first} to ${found.last}: the chain is intact${found.trimmed ? "; older files were removed" : ""}`;
      setSaid({ isGood: found.intact, text: found.intact ? `${range}. Head ${found.head}` : (found.problem ?? "") });
    });
  return (
    <>
      <button onClick={check}>Verify</button>
      {said && (
        <p role="status" class={`verdict ${said.isGood ? "healthy" : "unhealthy"}`}>
          {visible(said.text)}
        </p>
      )}
    </>
  );
}

/** Who did what, and whether the record is whole. */
export function Audit(): JSX.Element {
  const { query } = useSignal(route);
  const [asked, setAsked] = useState(query);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(query), TYPING_MS);
    return () => clearTimeout(timer);
  }, [query]);
  const wish: AuditListParams = {
    limit: PAGE,
    ...(asked.operation && { operation: asked.operation }),
    ...(asked.by && { by: asked.by }),
    ...(asked.tenant && { tenant: asked.tenant }),
    ...(/^\d+$/.test(asked.status ?? "") && { status: Number(asked.status) }),
    ...(/^\d+$/.test(asked.before ?? "") && { before: Number(asked.before) }),
  };
  const page = useData((signal) => api.auditList(wish, { signal }), [wish]);
  const lines = page.data?.lines ?? [];
  const shown = lines.find(({ seq }) => String(seq) === query.line);
  const isFiltered = FILTERS.some(([name]) => query[name]) || Boolean(query.before);
  return (
    <>
      <header class="page">
        <h1>Audit log</h1>
        {FILTERS.map(([name, text, hint]) => (
          <input key={name} type="search" aria-label={text} placeholder={hint ? `${text}: ${hint}` : text} value={query[name] ?? ""} onInput={(e) => setQuery({ [name]: e.currentTarget.value, before: undefined })} />
        ))}
        <button onClick={page.reload}>Refresh</button>
        <Verdict />
      </header>
      <Failure error={page.error} retry={page.reload} />
      {page.data && (
        <>
          <Table
            label="Audit log"
            rows={lines}
            columns={COLUMNS}
            keyOf={(l) => String(l.seq)}
            empty={
              <Empty title={isFiltered ? "No line matches" : "Nothing is recorded yet"}>
                <p>{isFiltered ? <a href={href(["audit"])}>Show all lines</a> : "Each call that changes something, and each that is denied, becomes a line."}</p>
              </Empty>
            }
          />
          <div class="row">
            {query.before && <button onClick={() => setQuery({ before: undefined })}>Newest</button>}
            {lines.length === PAGE && <button onClick={() => setQuery({ before: String(lines.at(-1)?.seq) })}>Older</button>}
            <small>{page.data.total} lines match</small>
          </div>
        </>
      )}
      {shown && <Line line={shown} />}
    </>
  );
}
