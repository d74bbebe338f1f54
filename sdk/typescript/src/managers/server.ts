import { Api } from "../generated/api.js";
import type { CallOptions, HttpClient } from "../http.js";
import { upTo } from "../last.js";
import type {
  Cleared,
  Deleted,
  EventHistoryParams,
  EventPage,
  GlobalMetrics,
  Health,
  Image,
  ImageEvent,
  NetworkConnected,
  NetworkDisconnected,
  NetworkList,
  ObservabilityMetrics,
  ObservabilityTracesParams,
  OpenApi,
  PoolStatus,
  SandboxEvent,
  SandboxInfo,
  SandboxNetwork,
  SandboxTemplate,
  SandboxVolume,
  SnapshotInfo,
  Swept,
  TemplateCreateConfig,
  Token,
  TokenCreateParams,
  TracePage,
  VolumeAttached,
  VolumeDetached,
  VolumeList,
  WorkerInfo,
  WorkerList,
  WorkerSelected,
  WorkersMigrated,
  WorkersReaped,
} from "../generated/types.js";

/** What the managers of the whole server have in common. */
class ServerManager {
  protected readonly api: Api;

  constructor(http: HttpClient) {
    this.api = new Api(http);
  }
}

export class EventManager extends ServerManager {
  /** Past events, newest first. */
  history(options: EventHistoryParams = {}): Promise<EventPage> {
    return this.api.eventHistory(options);
  }

  publish(topic: string, sandboxId: string, data?: Record<string, unknown>): Promise<SandboxEvent> {
    return this.api.eventPublish({ topic, sandboxId, data });
  }

  /** Events as they occur, all or those of one topic. It has no end of its own. */
  stream(topic?: string, options?: CallOptions): AsyncGenerator<SandboxEvent, void, undefined> {
    return this.api.streamEvents({ topic }, options);
  }
}

export class NetworkManager extends ServerManager {
  create(name: string, driver?: string): Promise<SandboxNetwork> {
    return this.api.networkCreate({ name, driver });
  }

  list(): Promise<NetworkList> {
    return this.api.networkList();
  }

  connect(networkId: string, sandboxId: string): Promise<NetworkConnected> {
    return this.api.networkConnect({ networkId, sandboxId });
  }

  disconnect(networkId: string, sandboxId: string): Promise<NetworkDisconnected> {
    return this.api.networkDisconnect({ networkId, sandboxId });
  }

  delete(networkId: string): Promise<Deleted> {
    return this.api.networkDelete({ networkId });
  }
}

export class ObservabilityClient extends ServerManager {
  traces(options: ObservabilityTracesParams = {}): Promise<TracePage> {
    return this.api.observabilityTraces(options);
  }

  metrics(): Promise<ObservabilityMetrics> {
    return this.api.observabilityMetrics();
  }

  /** Deletes traces older than a time (ms); default: now. */
  clear(before?: number): Promise<Cleared> {
    return this.api.observabilityClear({ before });
  }
}

export class VolumeManager extends ServerManager {
  create(name: string, driver?: string): Promise<SandboxVolume> {
    return this.api.volumeCreate({ name, driver });
  }

  list(): Promise<VolumeList> {
    return this.api.volumeList();
  }

  delete(volumeId: string): Promise<Deleted> {
    return this.api.volumeDelete({ volumeId });
  }

  attach(
    volumeId: string,
    sandboxId: string,
    mountPath: string,
    options: { readOnly?: boolean } = {},
  ): Promise<VolumeAttached> {
    return this.api.volumeAttach({ volumeId, sandboxId, mountPath, ...options });
  }

  detach(volumeId: string): Promise<VolumeDetached> {
    return this.api.volumeDetach({ volumeId });
  }
}

export class TemplateManager extends ServerManager {
  create(name: string, config: TemplateCreateConfig, description?: string): Promise<SandboxTemplate> {
    return this.api.templateCreate({ name, config, description });
  }

  async list(): Promise<SandboxTemplate[]> {
    return (await this.api.templateList()).templates;
  }

  get(id: string): Promise<SandboxTemplate> {
    return this.api.templateGet({ id });
  }

  delete(id: string): Promise<Deleted> {
    return this.api.templateDelete({ id });
  }
}

/** Snapshots by their own id; those of a sandbox are made and listed by the sandbox. */
export class SnapshotManager extends ServerManager {
  /** A new sandbox from a snapshot. */
  clone(snapshotId: string, name?: string): Promise<SandboxInfo> {
    return this.api.snapshotClone({ snapshotId, name });
  }

  delete(snapshotId: string): Promise<Deleted> {
    return this.api.snapshotDelete({ snapshotId });
  }

  /** The short form of a snapshot: with a comment instead of a name. */
  createShort(id: string, options: { name?: string; comment?: string } = {}): Promise<SnapshotInfo> {
    return this.api.snapshotCreateShort({ id, ...options });
  }
}

export class ImageManager extends ServerManager {
  async list(): Promise<Image[]> {
    return (await this.api.imageList()).images;
  }

  pull(image: string): Promise<Image> {
    return this.api.imagePull({ image });
  }

  /** Gets an image and tells how far it is; the last event is `done`. */
  pullStream(image: string, options?: CallOptions): AsyncGenerator<ImageEvent, void, undefined> {
    return upTo(this.api.imagePullStream({ image }, options), "done");
  }

  delete(name: string): Promise<Deleted> {
    return this.api.imageDelete({ name });
  }

  /** The same with the name in the query, for proxies that decode paths. */
  deleteNamed(name: string): Promise<Deleted> {
    return this.api.imageDeleteQuery({ name });
  }
}

/** API tokens; for admins. */
export class TokenManager extends ServerManager {
  create(name: string, options: Omit<TokenCreateParams, "name"> = {}): Promise<Token> {
    return this.api.tokenCreate({ name, ...options });
  }

  async list(): Promise<Token[]> {
    return (await this.api.tokenList()).tokens;
  }

  get(tokenId: string): Promise<Token> {
    return this.api.tokenGet({ tokenId });
  }

  revoke(tokenId: string): Promise<Token> {
    return this.api.tokenRevoke({ tokenId });
  }

  rotate(tokenId: string): Promise<Token> {
    return this.api.tokenRotate({ tokenId });
  }
}

/** The server itself; most of it for admins. */
export class AdminClient extends ServerManager {
  health(): Promise<Health> {
    return this.api.health();
  }

  metrics(): Promise<GlobalMetrics> {
    return this.api.metricsGlobal();
  }

  openapi(): Promise<OpenApi> {
    return this.api.openapi();
  }

  poolStatus(): Promise<PoolStatus> {
    return this.api.poolStatus();
  }

  /** Removes expired sandboxes now. */
  sweep(): Promise<Swept> {
    return this.api.ttlSweep();
  }

  workers(): Promise<WorkerList> {
    return this.api.workerList();
  }

  selectWorker(): Promise<WorkerSelected> {
    return this.api.workerSelect();
  }

  reapWorkers(): Promise<WorkersReaped> {
    return this.api.workerReap();
  }

  migrateWorkers(): Promise<WorkersMigrated> {
    return this.api.workerMigrate();
  }

  heartbeat(): Promise<WorkerInfo> {
    return this.api.workerHeartbeat();
  }
}
