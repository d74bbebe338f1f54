import type { JSX } from "preact";
import { api, type ProcessInfo } from "../api.js";
import { visible } from "../format.js";
import { Empty, Failure, Table, attempt, useData, type Column } from "../ui.js";
import type { BoxProps } from "./box.js";

export function Processes({ box }: BoxProps): JSX.Element {
  const list = useData((signal) => api.procList({ id: box.id }, { signal }), [box.id], 2000);
  const kill = (pid: number, signal: "TERM" | "KILL") => () =>
    attempt(`SIG${signal} sent to ${pid}`, () => api.procKill({ id: box.id, pid, signal })).then(list.reload);
  const columns: readonly Column<ProcessInfo>[] = [
    { name: "PID", sort: (p) => p.pid, show: (p) => p.pid, narrow: true },
    { name: "User", sort: (p) => p.user, show: (p) => visible(p.user), narrow: true, minor: true },
    { name: "CPU", sort: (p) => Number(p.cpu), show: (p) => p.cpu, narrow: true },
    { name: "Memory", sort: (p) => Number(p.memory), show: (p) => p.memory, narrow: true },
    { name: "Command", sort: (p) => p.command, show: (p) => <code>{visible(p.command)}</code> },
    {
      name: "",
      narrow: true,
      show: (p) => (
        <>
          <button class="quiet" onClick={kill(p.pid, "TERM")} aria-label={`Terminate ${p.pid}`}>
            end
          </button>
          <button class="quiet" onClick={kill(p.pid, "KILL")} aria-label={`Kill ${p.pid}`}>
            kill
          </button>
        </>
      ),
    },
  ];
  return (
    <>
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table label="Processes" rows={list.data.processes} columns={columns} keyOf={(p) => String(p.pid)} empty={<Empty title="No processes" />} />
      )}
    </>
  );
}
