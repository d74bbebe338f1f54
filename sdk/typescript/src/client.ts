import { Api } from "./generated/api.js";
import type {
  SandboxCreateParams,
  SandboxInfo,
  SandboxListParams,
  SandboxPage,
  SandboxTemplate,
} from "./generated/types.js";
import { HttpClient, type CallOptions } from "./http.js";
import {
  AdminClient,
  EventManager,
  ImageManager,
  NetworkManager,
  ObservabilityClient,
  SnapshotManager,
  TemplateManager,
  TokenManager,
  VolumeManager,
  WebhookManager,
} from "./generated/managers.js";
import { Sandbox } from "./sandbox.js";
import type { ClientConfig } from "./settings.js";

/** What a new sandbox is made from; without image and template the server's default image, `python`. */
export type SandboxCreateOptions = SandboxCreateParams;

/** One server, with everything that can be asked of it. */
export class Client {
  readonly http: HttpClient;
  readonly api: Api;
  readonly admin: AdminClient;
  readonly events: EventManager;
  readonly images: ImageManager;
  readonly networks: NetworkManager;
  readonly observability: ObservabilityClient;
  readonly snapshots: SnapshotManager;
  readonly templates: TemplateManager;
  readonly tokens: TokenManager;
  readonly volumes: VolumeManager;
  readonly webhooks: WebhookManager;

  constructor(config: ClientConfig = {}) {
    this.http = new HttpClient(config);
    this.api = new Api(this.http);
    this.admin = new AdminClient(this.http);
    this.events = new EventManager(this.http);
    this.images = new ImageManager(this.http);
    this.networks = new NetworkManager(this.http);
    this.observability = new ObservabilityClient(this.http);
    this.snapshots = new SnapshotManager(this.http);
    this.templates = new TemplateManager(this.http);
    this.tokens = new TokenManager(this.http);
    this.volumes = new VolumeManager(this.http);
    this.webhooks = new WebhookManager(this.http);
  }

  async createSandbox(options: SandboxCreateOptions = {}, call?: CallOptions): Promise<Sandbox> {
    return this.sandbox(await this.api.sandboxCreate(options, call));
  }

  /** The sandbox with this id or name. */
  async getSandbox(id: string): Promise<Sandbox> {
    return this.sandbox(await this.api.sandboxGet({ id }));
  }

  /** One page of sandboxes. */
  listSandboxes(options: SandboxListParams = {}): Promise<SandboxPage> {
    return this.api.sandboxList(options);
  }

  /** All sandboxes that match, page after page. */
  async *allSandboxes(options: Omit<SandboxListParams, "page"> = {}): AsyncGenerator<SandboxInfo, void, undefined> {
    for (let page = 1; ; page++) {
      const { items, total, pageSize } = await this.api.sandboxList({ ...options, page });
      yield* items;
      if (items.length === 0 || page * pageSize >= total) return;
    }
  }

  /** A sandbox of which the record is known, for example from clone or fork; asks the server nothing. */
  sandbox(info: SandboxInfo): Sandbox {
    return new Sandbox(this.http, info);
  }
}

/** A new sandbox; options of the client may stand among its own. */
export function createSandbox(options: SandboxCreateOptions & ClientConfig = {}): Promise<Sandbox> {
  return Sandbox.create(options);
}

/** The first page of sandboxes. */
export async function listSandboxes(config?: ClientConfig): Promise<SandboxInfo[]> {
  return (await new Client(config).listSandboxes()).items;
}

export async function getSandbox(id: string, config?: ClientConfig): Promise<Sandbox> {
  return new Client(config).getSandbox(id);
}

export async function listTemplates(config?: ClientConfig): Promise<SandboxTemplate[]> {
  return new Client(config).templates.list();
}
