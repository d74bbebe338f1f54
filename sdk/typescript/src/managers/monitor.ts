import type { Api } from "../generated/api.js";
import type { AlertEventPage, AlertList, AlertSetParams, Deleted, ResourceAlert } from "../generated/types.js";

/** Alerts on resource use. */
export class MonitorManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  setAlert(
    metric: AlertSetParams["metric"],
    threshold: number,
    action?: AlertSetParams["action"],
  ): Promise<ResourceAlert> {
    return this.api.alertSet({ id: this.id, metric, threshold, action });
  }

  listAlerts(): Promise<AlertList> {
    return this.api.alertList({ id: this.id });
  }

  deleteAlert(alertId: string): Promise<Deleted> {
    return this.api.alertDelete({ alertId });
  }

  /** Alerts that fired, newest first. */
  history(limit?: number): Promise<AlertEventPage> {
    return this.api.alertHistory({ id: this.id, limit });
  }
}
