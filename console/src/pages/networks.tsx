import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type SandboxNetwork } from "../api.js";
import { visible } from "../format.js";
import { href } from "../route.js";
import { Empty, Failure, attempt, confirm, useData } from "../ui.js";

/** Who reaches whom: every member of a network reaches every other. */
function Picture({ network, names }: { network: SandboxNetwork; names: ReadonlyMap<string, string> }): JSX.Element {
  const members = network.sandboxes;
  const size = 220;
  const spots = members.map((id, i) => {
    const angle = (2 * Math.PI * i) / Math.max(members.length, 1) - Math.PI / 2;
    return { id, x: size / 2 + Math.cos(angle) * 70, y: size / 2 + Math.sin(angle) * 70 };
  });
  return (
    <svg viewBox={`0 0 ${size} ${size}`} class="picture" role="img" aria-label={`${visible(network.name)}: ${members.length} members reach each other`}>
      {spots.flatMap((a, i) => spots.slice(i + 1).map((b) => <line key={`${a.id}${b.id}`} x1={a.x} y1={a.y} x2={b.x} y2={b.y} />))}
      {spots.map(({ id, x, y }) => (
        <g key={id}>
          <circle cx={x} cy={y} r={8} />
          <text x={x} y={y - 12}>
            {visible(names.get(id) ?? id).slice(0, 14)}
          </text>
        </g>
      ))}
    </svg>
  );
}

function Card(props: { network: SandboxNetwork; names: ReadonlyMap<string, string>; reload(): void }): JSX.Element {
  const { network, names } = props;
  const [chosen, choose] = useState("");
  const others = [...names].filter(([id]) => !network.sandboxes.includes(id));
  const remove = async (): Promise<void> => {
    if (!(await confirm(`Delete ${visible(network.name)}?`, "Its members no longer reach each other.", "Delete"))) return;
    await attempt("deleted", () => api.networkDelete({ networkId: network.id }));
    props.reload();
  };
  return (
    <section class="card">
      <h2>{visible(network.name)}</h2>
      {network.sandboxes.length > 0 ? <Picture network={network} names={names} /> : <p>No members yet.</p>}
      <ul class="plain">
        {network.sandboxes.map((id) => (
          <li key={id}>
            <a href={href(["sandboxes", id])}>{visible(names.get(id) ?? id)}</a>{" "}
            <button
              class="quiet"
              onClick={() => attempt("disconnected", () => api.networkDisconnect({ networkId: network.id, sandboxId: id })).then(props.reload)}
            >
              disconnect
            </button>
          </li>
        ))}
      </ul>
      <div class="row">
        <select aria-label={`Sandbox for ${visible(network.name)}`} value={chosen} onChange={(e) => choose(e.currentTarget.value)}>
          <option value="">choose a sandbox</option>
          {others.map(([id, name]) => (
            <option key={id} value={id}>
              {visible(name)}
            </option>
          ))}
        </select>
        <button
          disabled={!chosen}
          onClick={() => attempt("connected", () => api.networkConnect({ networkId: network.id, sandboxId: chosen })).then(() => (choose(""), props.reload()))}
        >
          Connect
        </button>
        <button class="danger" onClick={remove}>
          Delete
        </button>
      </div>
    </section>
  );
}

export function Networks(): JSX.Element {
  const list = useData((signal) => api.networkList({ signal }), [], 5000);
  const boxes = useData((signal) => api.sandboxList({ pageSize: 200 }, { signal }), [], 5000);
  const [name, setName] = useState("");
  const names = new Map((boxes.data?.items ?? []).map((box) => [box.id, box.name || box.id]));
  const create = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await attempt(`${name} is created`, () => api.networkCreate({ name }))) setName("");
    list.reload();
  };
  return (
    <>
      <header class="page">
        <h1>Networks</h1>
        <form class="row" onSubmit={create}>
          <input aria-label="Name of the network" placeholder="Name" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
          <button class="primary">Create</button>
        </form>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data?.networks.length === 0 && (
        <Empty title="No networks">
          <p>Sandboxes of one network reach each other by name, and nothing else. Create one above.</p>
        </Empty>
      )}
      <div class="cards">
        {(list.data?.networks ?? []).map((network) => (
          <Card key={network.id} network={network} names={names} reload={list.reload} />
        ))}
      </div>
    </>
  );
}
