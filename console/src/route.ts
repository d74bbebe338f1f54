// The state of the console is in the URL: #/sandboxes/sbx_1/files?path=/workspace
import { signal } from "./signal.js";

export interface Route {
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand
  }
}

function parse(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

export const route = signal<Route>(parse());
addEventListener("hashchange", () => (route.value = parse()));

export function href(parts: readonly string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const text = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${text}`;
}

export function go(parts: readonly string[], query?: Record<string, string | undefined>): void {
  location.hash = href(parts, query);
}

/** Changes the query of this page; `replace` leaves no entry in the history. */
export function setQuery(change: Record<string, string | undefined>): void {
  const to = href(route.value.parts, { ...route.value.query, ...change });
  history.replaceState(null, "", to);
  route.value = parse();
}
