// The server, through the generated client of the TypeScript SDK. The browser's session cookie says who calls.
import { Api } from "../../sdk/typescript/src/generated/api.js";
import { ApiError } from "../../sdk/typescript/src/errors.js";
import { HttpClient } from "../../sdk/typescript/src/http.js";
import type { SandboxInfo } from "../../sdk/typescript/src/generated/types.js";
import { signal } from "./signal.js";

export type * from "../../sdk/typescript/src/generated/types.js";

/** "ok", "lost" while the server does not answer, "login" when it wants a token. */
export const link = signal<"ok" | "lost" | "login">("ok");

export interface Me {
  readonly role: "admin" | "user" | "read-only";
  readonly name: string;
  readonly tenant: string;
  /** The server asks nobody for a token. */
  readonly open: boolean;
}
export const me = signal<Me | undefined>(undefined);

/** The cookie of a session opens nothing without its proof, which only pages of this origin can read. */
const PROOF = "iii-session";
export const proof = (): string => localStorage.getItem(PROOF) ?? "";

export async function logIn(token: string): Promise<void> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) };
  const found = (await (await raw("/console/session", init, false)).json()) as Me & { proof: string };
  localStorage.setItem(PROOF, found.proof);
  me.value = found;
  link.value = "ok";
}

let isLeaving = false; // what is refused now asks for no token: the page is about to be loaded again

export async function logOut(): Promise<void> {
  isLeaving = true;
  try {
    await guarded("/console/session", { method: "DELETE" });
  } catch (error) {
    isLeaving = false;
    throw error;
  }
  localStorage.removeItem(PROOF);
  location.reload();
}

export async function whoAmI(): Promise<void> {
  me.value = (await (await raw("/console/session")).json()) as Me;
}

async function guarded(input: RequestInfo | URL, init?: RequestInit, asks = true): Promise<Response> {
  try {
    const headers = new Headers(init?.headers);
    const sent = proof();
    if (sent) headers.set("Iii-Session", sent);
    const response = await fetch(input, { ...init, headers, credentials: "same-origin" });
    if (response.status === 401 && asks && (isLeaving || sent !== proof())) return response; // of a session that is over
    if (response.status === 401 && asks) link.value = "login";
    else if (link.value !== "login") link.value = "ok";
    return response;
  } catch (error) {
    if (!init?.signal?.aborted) link.value = "lost";
    throw error;
  }
}

export const api = new Api(new HttpClient({ baseUrl: location.origin, token: "", maxRetries: 0, fetch: (input, init) => guarded(input, init) }));

/** All sandboxes, page after page. */
export async function* allSandboxes(signal?: AbortSignal): AsyncGenerator<SandboxInfo, void, undefined> {
  for (let page = 1; ; page++) {
    const { items, total, pageSize } = await api.sandboxList({ page, pageSize: 200 }, { signal });
    yield* items;
    if (items.length === 0 || page * pageSize >= total) return;
  }
}

/** What went wrong, in the server's words; `fix` is what it suggests. */
export function reasonOf(error: unknown): { text: string; fix?: string } {
  if (error instanceof ApiError) {
    const fix = error.fix === undefined ? undefined : typeof error.fix === "string" ? error.fix : JSON.stringify(error.fix);
    return { text: error.reason, fix };
  }
  return { text: error instanceof Error ? error.message : String(error) };
}

/** GET of a path of the API that answers with something else than JSON. */
export async function raw(path: string, init: RequestInit = {}, asks = true): Promise<Response> {
  const response = await guarded(path, init, asks);
  if (response.ok) return response;
  const text = await response.text();
  let reason = text;
  try {
    reason = String((JSON.parse(text) as { error?: unknown }).error ?? text);
  } catch {
    // a proxy in between answered in its own words
  }
  throw new Error(`${reason} (${response.status})`);
}

export const contentPath = (id: string, path: string, more: Record<string, string> = {}): string =>
  `/sandbox/sandboxes/${encodeURIComponent(id)}/files/content?${new URLSearchParams({ path, ...more })}`;

/** Saves a file of a sandbox, or a folder as a zip archive. */
export async function download(id: string, path: string, isFolder: boolean): Promise<void> {
  const response = await raw(contentPath(id, path, isFolder ? { format: "zip" } : {}));
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = (path.split("/").at(-1) || "files") + (isFolder ? ".zip" : "");
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
