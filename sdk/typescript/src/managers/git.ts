import type { Api } from "../generated/api.js";
import type { ExecResult, GitBranches, GitDiff, GitLog, GitStatus } from "../generated/types.js";

/** Git, by the sandbox's own git program. `path` is the repository's folder; default: the working folder. */
export class GitManager {
  constructor(
    private readonly api: Api,
    private readonly id: string,
  ) {}

  clone(url: string, options: { path?: string; branch?: string; depth?: number } = {}): Promise<ExecResult> {
    return this.api.gitClone({ id: this.id, url, ...options });
  }

  status(path?: string): Promise<GitStatus> {
    return this.api.gitStatus({ id: this.id, path });
  }

  commit(message: string, options: { path?: string; all?: boolean } = {}): Promise<ExecResult> {
    return this.api.gitCommit({ id: this.id, message, ...options });
  }

  diff(options: { path?: string; staged?: boolean; file?: string } = {}): Promise<GitDiff> {
    return this.api.gitDiff({ id: this.id, ...options });
  }

  log(options: { path?: string; count?: number } = {}): Promise<GitLog> {
    return this.api.gitLog({ id: this.id, ...options });
  }

  branch(options: { path?: string; name?: string; delete?: boolean } = {}): Promise<GitBranches> {
    return this.api.gitBranch({ id: this.id, ...options });
  }

  checkout(ref: string, path?: string): Promise<ExecResult> {
    return this.api.gitCheckout({ id: this.id, ref, path });
  }

  push(options: { path?: string; remote?: string; branch?: string; force?: boolean } = {}): Promise<ExecResult> {
    return this.api.gitPush({ id: this.id, ...options });
  }

  pull(options: { path?: string; remote?: string; branch?: string } = {}): Promise<ExecResult> {
    return this.api.gitPull({ id: this.id, ...options });
  }
}
