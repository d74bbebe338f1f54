export interface ClientConfig {
  /** Where the server is; default: `III_SANDBOX_URL`, otherwise `http://localhost:3111`. */
  baseUrl?: string;
  /** Sent as `Authorization: Bearer …`; default: `III_SANDBOX_TOKEN`, otherwise `III_AUTH_TOKEN`. An empty text sends none. */
  token?: string;
  /** Deadline of one request, 30 000 by default. Streams have none once they have begun, nor do calls that run commands, pull or copy. */
  timeoutMs?: number;
  /** How often a call that may be repeated is tried again after a lost connection or a `Retry-After`; default 2. */
  maxRetries?: number;
  /** Another implementation of fetch. */
  fetch?: typeof fetch;
}

const DEFAULT_URL = "http://localhost:3111";

/** A variable of the environment, where there is one. */
function variable(...names: string[]): string | undefined {
  const env = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env;
  return names.map((name) => env?.[name]).find((value) => value);
}

/** Address without a slash at its end, and token: as given, otherwise as in the environment. */
export function settled(config: ClientConfig): { baseUrl: string; token: string | undefined } {
  const baseUrl = (config.baseUrl || variable("III_SANDBOX_URL") || DEFAULT_URL).replace(/\/+$/, "");
  if (/^\w+:\/\/[^/]*@/.test(baseUrl)) {
    throw new TypeError("baseUrl: a user and password in it would be shown in logs and errors; use token");
  }
  return { baseUrl, token: (config.token ?? variable("III_SANDBOX_TOKEN", "III_AUTH_TOKEN")) || undefined };
}

/** Options of the client among others, apart from those. */
export function split<T extends ClientConfig>(options: T): [ClientConfig, Omit<T, keyof ClientConfig>] {
  const { baseUrl, token, timeoutMs, maxRetries, fetch, ...rest } = options;
  return [{ baseUrl, token, timeoutMs, maxRetries, fetch }, rest];
}
