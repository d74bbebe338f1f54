import type { Api } from "../generated/api.js";
import type { EgressPolicy, EgressSetParams } from "../generated/types.js";

/** What a sandbox with a network may connect to. */
export class EgressManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  get(): Promise<EgressPolicy> {
    return this.api.egressGet({ id: this.id });
  }

  /** Changes the policy; open connections that are not allowed any more are cut. */
  set(policy: Omit<EgressSetParams, "id">): Promise<EgressPolicy> {
    return this.api.egressSet({ id: this.id, ...policy });
  }
}
