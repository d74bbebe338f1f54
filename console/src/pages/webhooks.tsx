import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type Webhook, type WebhookDelivery } from "../api.js";
import { visible, when } from "../format.js";
import { href, route } from "../route.js";
import { useSignal } from "../signal.js";
import { Copy, Dialog, Empty, Facts, Failure, Field, Table, attempt, confirm, useData, type Column } from "../ui.js";

function Secret(props: { hook: Webhook; onClose(): void }): JSX.Element {
  return (
    <Dialog title="The webhook's secret" onClose={props.onClose}>
      <p>Messages are signed with it. This is the only time that it is shown:</p>
      <pre>
        {props.hook.secret} <Copy text={props.hook.secret ?? ""} label="the secret" />
      </pre>
      <footer>
        <button class="primary" onClick={props.onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}

function Make(props: { onClose(): void; onMade(hook: Webhook): void }): JSX.Element {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState("*");
  const [description, setDescription] = useState("");
  const [error, setError] = useState<unknown>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      props.onMade(await api.webhookCreate({ url, events: events.split(/[\s,]+/).filter(Boolean), ...(description ? { description } : {}) }));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title="New webhook" onClose={props.onClose}>
      <form onSubmit={submit}>
        <Field label="URL" hint="https:// address that receives POST requests">
          <input required type="url" placeholder="https://hooks.example/iii" value={url} onInput={(e) => setUrl(e.currentTarget.value)} />
        </Field>
        <Field label="Events" hint="Patterns of topics: sandbox.* alert.*">
          <input required value={events} onInput={(e) => setEvents(e.currentTarget.value)} />
        </Field>
        <Field label="Description">
          <input value={description} onInput={(e) => setDescription(e.currentTarget.value)} />
        </Field>
        <Failure error={error} />
        <footer>
          <button class="primary">Create</button>
        </footer>
      </form>
    </Dialog>
  );
}

/** One webhook with its messages that wait, and its dead letters. */
function Detail(props: { id: string; onGone(): void }): JSX.Element {
  const hook = useData((signal) => api.webhookGet({ webhookId: props.id }, { signal }), [props.id], 4000);
  const list = useData((signal) => api.webhookDeliveries({ webhookId: props.id, limit: 200 }, { signal }), [props.id], 4000);
  const [shown, setShown] = useState<Webhook | undefined>();
  const reload = (): void => (hook.reload(), list.reload());
  const act = (did: string, work: () => Promise<unknown>) => () => attempt(did, work).then(reload);
  const webhookId = props.id;
  const test = async (): Promise<void> => {
    let said = "";
    await attempt("", async () => {
      const found = await api.webhookTest({ webhookId });
      said = found.delivered ? `delivered: status ${found.status}, ${found.durationMs} ms` : `not delivered: ${found.error ?? `status ${found.status}`}`;
    });
    if (said) await attempt(said, () => Promise.resolve());
    reload();
  };
  const remove = async (): Promise<void> => {
    if (!(await confirm("Delete the webhook?", "Messages that wait are dropped.", "Delete"))) return;
    if (await attempt("deleted", () => api.webhookDelete({ webhookId }))) props.onGone();
  };
  const rotate = async (): Promise<void> => {
    if (!(await confirm("Give it a new secret?", "For a day, messages are signed with both.", "Rotate"))) return;
    await attempt("", async () => setShown(await api.webhookRotate({ webhookId })));
  };
  const purge = async (): Promise<void> => {
    if (!(await confirm("Remove the dead letters?", "They are not sent again.", "Remove"))) return;
    await act("removed", () => api.webhookPurge({ webhookId, status: "dead" }))();
  };
  const columns: readonly Column<WebhookDelivery>[] = [
    { name: "Event", sort: (d) => d.topic, show: (d) => visible(d.topic) },
    { name: "State", sort: (d) => d.status, show: (d) => (d.status === "dead" ? <span class="stderr">dead letter</span> : "waits"), narrow: true },
    { name: "Tries", sort: (d) => d.attempts, show: (d) => d.attempts, narrow: true },
    { name: "Last", show: (d) => visible(d.lastError ?? (d.lastStatus ? `status ${d.lastStatus}` : "")), minor: true },
    { name: "Next", sort: (d) => d.nextAttemptAt ?? 0, show: (d) => (d.nextAttemptAt ? when(d.nextAttemptAt) : ""), narrow: true, minor: true },
    {
      name: "",
      narrow: true,
      show: (d) =>
        d.status === "dead" && (
          <button class="quiet" aria-label={`Send ${d.id} again`} onClick={act("queued again", () => api.webhookRetry({ webhookId, deliveryId: d.id }))}>
            send again
          </button>
        ),
    },
  ];
  const found = hook.data;
  return (
    <section class="card" aria-label="Webhook">
      <Failure error={hook.error} retry={hook.reload} />
      {found && (
        <>
          <h2>{visible(found.url)}</h2>
          <div class="row">
            <button onClick={test}>Send a test</button>
            <button onClick={act("saved", () => api.webhookUpdate({ webhookId, enabled: !found.enabled }))}>{found.enabled ? "Disable" : "Enable"}</button>
            <button onClick={rotate}>New secret</button>
            <button disabled={found.dead === 0} onClick={act("queued again", () => api.webhookRetry({ webhookId }))}>
              Send all dead letters again
            </button>
            <button disabled={found.dead === 0} onClick={purge}>
              Remove dead letters
            </button>
            <button class="danger" onClick={remove}>
              Delete
            </button>
          </div>
          <Facts
            rows={[
              ["Id", <code>{found.id}</code>],
              ["Events", visible(found.events.join(", "))],
              ["Of", found.sandboxId && <a href={href(["sandboxes", found.sandboxId])}>{found.sandboxId}</a>],
              ["Description", visible(found.description ?? "")],
              ["Disabled", found.disabledReason && visible(found.disabledReason)],
              ["Fails since", found.failingSince && when(found.failingSince)],
              ["Dropped", found.dropped || undefined],
            ]}
          />
        </>
      )}
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Deliveries"
          rows={list.data.deliveries}
          columns={columns}
          keyOf={(d) => d.id}
          empty={
            <Empty title="Nothing waits">
              <p>Messages are here until they are delivered; those that never were stay as dead letters.</p>
            </Empty>
          }
        />
      )}
      {shown && <Secret hook={shown} onClose={() => setShown(undefined)} />}
    </section>
  );
}

export function Webhooks(): JSX.Element {
  const { parts } = useSignal(route);
  const list = useData((signal) => api.webhookList({}, { signal }), [], 5000);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<Webhook | undefined>();
  const columns: readonly Column<Webhook>[] = [
    { name: "URL", sort: (h) => h.url, show: (h) => <a href={href(["webhooks", h.id])}>{visible(h.url)}</a> },
    { name: "Events", show: (h) => visible(h.events.join(", ")), minor: true },
    { name: "State", sort: (h) => Number(h.enabled), show: (h) => (h.enabled ? (h.failingSince ? <span class="stderr">fails</span> : "enabled") : "disabled"), narrow: true },
    { name: "Wait", sort: (h) => h.pending, show: (h) => h.pending, narrow: true },
    { name: "Dead", sort: (h) => h.dead, show: (h) => h.dead, narrow: true },
    { name: "Created", sort: (h) => h.createdAt, show: (h) => when(h.createdAt), narrow: true, minor: true },
  ];
  return (
    <>
      <header class="page">
        <h1>Webhooks</h1>
        <button class="primary" onClick={() => setMaking(true)}>
          New webhook
        </button>
      </header>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Webhooks"
          rows={list.data.webhooks}
          columns={columns}
          keyOf={(h) => h.id}
          onOpen={(h) => (location.hash = href(["webhooks", h.id]))}
          empty={
            <Empty title="No webhooks">
              <p>A webhook sends events to a URL, signed, and again until they arrive. Create one above.</p>
            </Empty>
          }
        />
      )}
      {parts[1] && (
        <Detail
          key={parts[1]}
          id={parts[1]}
          onGone={() => {
            location.hash = href(["webhooks"]);
            list.reload();
          }}
        />
      )}
      {isMaking && (
        <Make
          onClose={() => setMaking(false)}
          onMade={(hook) => {
            setMaking(false);
            setMade(hook);
            list.reload();
          }}
        />
      )}
      {made && <Secret hook={made} onClose={() => setMade(undefined)} />}
    </>
  );
}
