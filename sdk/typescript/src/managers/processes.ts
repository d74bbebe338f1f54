import type { Api } from "../generated/api.js";
import type { ProcessKilled, ProcessList, ProcessTop, ProcKillParams } from "../generated/types.js";

/** Processes inside a sandbox, by their ids there. */
export class ProcessManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  list(): Promise<ProcessList> {
    return this.api.procList({ id: this.id });
  }

  kill(pid: number, signal?: ProcKillParams["signal"]): Promise<ProcessKilled> {
    return this.api.procKill({ id: this.id, pid, signal });
  }

  top(): Promise<ProcessTop> {
    return this.api.procTop({ id: this.id });
  }
}
