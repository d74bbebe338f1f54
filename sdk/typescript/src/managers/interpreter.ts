import type { Api } from "../generated/api.js";
import { upTo } from "../last.js";
import type {
  CodeResult,
  Context,
  ContextCreateParams,
  ContextDeleted,
  ContextEvent,
  ContextInterrupted,
  ContextResult,
  InterpExecuteParams,
  InterpInstallParams,
  Kernel,
} from "../generated/types.js";

/** Snippets of code in a fresh interpreter, and contexts that keep their variables. */
export class InterpreterManager {
  readonly contexts: ContextManager;

  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {
    this.contexts = new ContextManager(api, id);
  }

  run(code: string, language: InterpExecuteParams["language"] = "python"): Promise<CodeResult> {
    return this.api.interpExecute({ id: this.id, code, language });
  }

  /** What the package manager printed. */
  async install(packages: string[], manager: InterpInstallParams["manager"] = "pip"): Promise<string> {
    return (await this.api.interpInstall({ id: this.id, packages, manager })).output;
  }

  kernels(): Promise<Kernel[]> {
    return this.api.interpKernels({ id: this.id });
  }
}

/** Interpreters whose variables live between calls. */
export class ContextManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  create(options: Omit<ContextCreateParams, "id"> = {}): Promise<Context> {
    return this.api.contextCreate({ id: this.id, ...options });
  }

  async list(): Promise<Context[]> {
    return (await this.api.contextList({ id: this.id })).contexts;
  }

  get(contextId: string): Promise<Context> {
    return this.api.contextGet({ id: this.id, contextId });
  }

  /** Runs code and waits; `timeout` in seconds. */
  run(contextId: string, code: string, timeout?: number): Promise<ContextResult> {
    return this.api.contextExecute({ id: this.id, contextId, code, timeout });
  }

  /** Runs code and gives what it prints and makes, as it comes; the last event is `end`. */
  runStream(contextId: string, code: string, timeout?: number): AsyncGenerator<ContextEvent, void, undefined> {
    return upTo(this.api.contextExecuteStream({ id: this.id, contextId, code, timeout }), "end");
  }

  /** Ends what runs; the variables stay. */
  interrupt(contextId: string): Promise<ContextInterrupted> {
    return this.api.contextInterrupt({ id: this.id, contextId });
  }

  /** Begins anew: the same id, no variables. */
  restart(contextId: string): Promise<Context> {
    return this.api.contextRestart({ id: this.id, contextId });
  }

  delete(contextId: string): Promise<ContextDeleted> {
    return this.api.contextDelete({ id: this.id, contextId });
  }
}
