import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type Token } from "../api.js";
import { visible, when } from "../format.js";
import { route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Copy, Dialog, Empty, Failure, Field, Table, attempt, confirm, useData, type Column } from "../ui.js";

const ROLES = ["user", "read-only", "admin"] as const;

function Make(props: { onClose(): void }): JSX.Element {
  const [name, setName] = useState("");
  const [tenant, setTenant] = useState("");
  const [role, setRole] = useState<(typeof ROLES)[number]>("user");
  const [made, setMade] = useState<Token | undefined>();
  const [error, setError] = useState<unknown>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      setMade(await api.tokenCreate({ name, role, ...(tenant ? { tenant } : {}) }));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title="New token" onClose={props.onClose}>
      {made ? (
        <>
          <p>This is the only time that the secret is shown:</p>
          <pre>
            {made.secret} <Copy text={made.secret ?? ""} label="the secret" />
          </pre>
          <footer>
            <button class="primary" onClick={props.onClose}>
              Done
            </button>
          </footer>
        </>
      ) : (
        <form onSubmit={submit}>
          <Field label="Name">
            <input required value={name} onInput={(e) => setName(e.currentTarget.value)} />
          </Field>
          <Field label="Role">
            <select value={role} onChange={(e) => setRole(e.currentTarget.value as (typeof ROLES)[number])}>
              {ROLES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </Field>
          <Field label="Tenant" hint="Whose sandboxes it sees; empty: a tenant of its own">
            <input value={tenant} onInput={(e) => setTenant(e.currentTarget.value)} />
          </Field>
          <Failure error={error} />
          <footer>
            <button class="primary">Create</button>
          </footer>
        </form>
      )}
    </Dialog>
  );
}

export function Tokens(): JSX.Element {
  const list = useData((signal) => api.tokenList({ signal }), [], 10_000);
  const [isMaking, setMaking] = useState(false);
  const { query } = useSignal(route);
  const revoke = async (token: Token): Promise<void> => {
    if (!(await confirm(`Revoke ${visible(token.name)}?`, "Whoever uses it is locked out at once.", "Revoke"))) return;
    await attempt("revoked", () => api.tokenRevoke({ tokenId: token.id }));
    list.reload();
  };
  const columns: readonly Column<Token>[] = [
    { name: "Name", sort: (t) => t.name, show: (t) => visible(t.name) },
    { name: "Role", sort: (t) => t.role, show: (t) => t.role, narrow: true },
    { name: "Tenant", sort: (t) => t.tenant ?? "", show: (t) => visible(t.tenant ?? ""), narrow: true },
    { name: "Sandboxes", show: (t) => t.usage?.sandboxes ?? "", narrow: true, minor: true },
    { name: "Used", sort: (t) => t.lastUsed ?? 0, show: (t) => when(t.lastUsed ?? 0), narrow: true, minor: true },
    { name: "Expires", sort: (t) => t.expires ?? 0, show: (t) => when(t.expires ?? 0), narrow: true },
    {
      name: "",
      narrow: true,
      show: (t) =>
        t.revoked ? (
          "revoked"
        ) : (
          <button class="quiet" onClick={() => revoke(t)} aria-label={`Revoke ${visible(t.name)}`}>
            revoke
          </button>
        ),
    },
  ];
  return (
    <>
      <header class="page">
        <h1>Tokens</h1>
        <input type="search" aria-label="Filter" placeholder="Filter by name or tenant" value={query.q ?? ""} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
        <button class="primary" onClick={() => setMaking(true)}>
          New token
        </button>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Tokens"
          rows={list.data.tokens.filter(({ name, tenant }) => !query.q || `${name} ${tenant}`.includes(query.q))}
          columns={columns}
          keyOf={(t) => t.id}
          empty={
            <Empty title="No tokens">
              <p>
                This server answers everybody on its host. The first token is created there: <code>iii token create</code>
              </p>
            </Empty>
          }
        />
      )}
      {isMaking && <Make onClose={() => (setMaking(false), list.reload())} />}
    </>
  );
}
