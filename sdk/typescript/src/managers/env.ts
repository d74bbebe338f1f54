import type { Api } from "../generated/api.js";
import type { EnvDeleted, EnvList, EnvSet, EnvValue } from "../generated/types.js";

/** Environment of a sandbox: what every later process gets. */
export class EnvManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  get(key: string): Promise<EnvValue> {
    return this.api.envGet({ id: this.id, key });
  }

  set(vars: Record<string, string>): Promise<EnvSet> {
    return this.api.envSet({ id: this.id, vars });
  }

  list(): Promise<EnvList> {
    return this.api.envList({ id: this.id });
  }

  delete(key: string): Promise<EnvDeleted> {
    return this.api.envDelete({ id: this.id, key });
  }
}
