import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type QueueJobInfo } from "../api.js";
import { visible, when } from "../format.js";
import { route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Facts, Status, Table, attempt, confirm, useData, type Column } from "../ui.js";
import type { BoxProps } from "./box.js";

const VIEWS = ["all", "pending", "running", "completed", "failed", "cancelled"] as const;

function Job({ job }: { job: QueueJobInfo }): JSX.Element {
  return (
    <section class="card">
      <h2>{visible(job.command)}</h2>
      <Facts
        rows={[
          ["Id", <code>{job.id}</code>],
          ["Status", <Status status={job.status} />],
          ["Tries", `${job.retries} failed, at most ${job.maxRetries} more`],
          ["Exit code", job.result?.exitCode],
          ["Error", job.error && visible(job.error)],
        ]}
      />
      {job.result?.stdout && <pre tabIndex={0}>{job.result.stdout}</pre>}
      {job.result?.stderr && (
        <pre class="stderr" tabIndex={0}>
          {job.result.stderr}
        </pre>
      )}
    </section>
  );
}

/** Commands that wait, run, and have finally failed (dead letters). */
export function Queue({ box }: BoxProps): JSX.Element {
  const { query } = useSignal(route);
  const view = VIEWS.find((one) => one === query.view) ?? "all";
  const list = useData((signal) => api.queueList({ id: box.id, status: view, limit: 200 }, { signal }), [box.id, view], 2000);
  const [command, setCommand] = useState("");
  const [tries, setTries] = useState("3");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const did = await attempt("queued", () => api.queueSubmit({ id: box.id, command, maxRetries: Number(tries), retryOnExit: true }));
    if (did) setCommand("");
    list.reload();
  };
  const cancel = async (job: QueueJobInfo): Promise<void> => {
    if (job.status === "running" && !(await confirm("Cancel the command?", "It runs, and is terminated.", "Cancel it"))) return;
    await attempt("cancelled", () => api.queueCancel({ jobId: job.id }));
    list.reload();
  };
  const retry = (job: QueueJobInfo) => attempt("queued again", () => api.queueRetry({ jobId: job.id })).then(list.reload);
  const columns: readonly Column<QueueJobInfo>[] = [
    {
      name: "Command",
      sort: (j) => j.command,
      show: (j) => (
        <button class="quiet name" onClick={() => setQuery({ job: j.id })}>
          {visible(j.command)}
        </button>
      ),
    },
    { name: "Status", sort: (j) => j.status, show: (j) => <Status status={j.status} />, narrow: true },
    { name: "Exit", show: (j) => j.result?.exitCode ?? "", narrow: true, minor: true },
    { name: "Queued", sort: (j) => j.createdAt, show: (j) => when(j.createdAt), narrow: true, minor: true },
    {
      name: "",
      narrow: true,
      show: (j) => (
        <>
          {j.status === "failed" && (
            <button class="quiet" aria-label={`Try ${j.id} again`} onClick={() => retry(j)}>
              try again
            </button>
          )}
          {(j.status === "pending" || j.status === "running") && (
            <button class="quiet" aria-label={`Cancel ${j.id}`} onClick={() => cancel(j)}>
              cancel
            </button>
          )}
        </>
      ),
    },
  ];
  const shown = list.data?.jobs.find(({ id }) => id === query.job);
  return (
    <>
      <form class="row" onSubmit={submit}>
        <input aria-label="Command to queue" placeholder="make test" required value={command} onInput={(e) => setCommand(e.currentTarget.value)} />
        <label class="row">
          Retries <input aria-label="Retries" type="number" min={0} max={100} value={tries} onInput={(e) => setTries(e.currentTarget.value)} />
        </label>
        <button class="primary">Queue</button>
      </form>
      <div class="row" role="group" aria-label="Which">
        {VIEWS.map((one) => (
          <button key={one} aria-pressed={one === view} onClick={() => setQuery({ view: one === "all" ? undefined : one })}>
            {one === "failed" ? "dead letters" : one}
          </button>
        ))}
      </div>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Queue"
          rows={[...list.data.jobs].reverse()}
          columns={columns}
          keyOf={(j) => j.id}
          empty={
            <Empty title={view === "failed" ? "No dead letters" : "Nothing in the queue"}>
              <p>Queued commands run one after the other, and again when they fail. Queue one above.</p>
            </Empty>
          }
        />
      )}
      {shown && <Job job={shown} />}
    </>
  );
}
