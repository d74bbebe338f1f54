import { PortMethods } from "../generated/managers.js";

/** Ports of a sandbox that are reachable from outside. */
export class PortManager extends PortMethods {
  /** Where the server on this port of the sandbox answers through our server: append a path and use it in a browser. */
  getProxyUrl(port: number): string {
    return `${this.api.http.getBaseUrl()}/sandbox/proxy/${this.id}/${port}`;
  }
}
