import type { Api } from "../generated/api.js";
import type {
  PortList,
  PortMapping,
  PortRemoved,
  ProxyConfig,
  ProxyConfigParams,
  ProxyReply,
  ProxyRequestParams,
} from "../generated/types.js";

/** Ports of a sandbox that are reachable from outside. */
export class PortManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  expose(containerPort: number, hostPort?: number, protocol?: "tcp" | "udp"): Promise<PortMapping> {
    return this.api.portExpose({ id: this.id, containerPort, hostPort, protocol });
  }

  list(): Promise<PortList> {
    return this.api.portList({ id: this.id });
  }

  unexpose(containerPort: number): Promise<PortRemoved> {
    return this.api.portUnexpose({ id: this.id, containerPort });
  }

  /** Where the server on this port of the sandbox answers through our server: append a path and use it in a browser. */
  getProxyUrl(port: number): string {
    return `${this.api.http.getBaseUrl()}/sandbox/proxy/${this.id}/${port}`;
  }
}

/** HTTP requests to servers inside a sandbox, through the server. */
export class ProxyManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  request(port: number, request: Omit<ProxyRequestParams, "id" | "port"> = {}): Promise<ProxyReply> {
    return this.api.proxyRequest({ id: this.id, port, ...request });
  }

  /** The proxy's settings, after changing those that are given. */
  config(changes: Omit<ProxyConfigParams, "id"> = {}): Promise<ProxyConfig> {
    return this.api.proxyConfig({ id: this.id, ...changes });
  }
}
