import type { Api } from "../generated/api.js";
import { ContextManager, InterpreterMethods } from "../generated/managers.js";

/** Snippets of code in a fresh interpreter, and contexts that keep their variables. */
export class InterpreterManager extends InterpreterMethods {
  readonly contexts: ContextManager;

  constructor(api: Api, id: string) {
    super(api, id);
    this.contexts = new ContextManager(api, id);
  }
}
