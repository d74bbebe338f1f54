// What the console shows, by the first part of the address.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Overview } from "./pages/overview.js";
import { Sandboxes } from "./pages/sandboxes.js";

type Page = ComponentType;

/** A page that is loaded when it is first shown. */
function lazy(load: () => Promise<Page>): Page {
  return function Lazy(): JSX.Element {
    const [Loaded, set] = useState<Page | undefined>();
    useEffect(() => void load().then((page) => set(() => page)), []);
    return Loaded ? <Loaded /> : <p class="loading">Loading…</p>;
  };
}

export const PAGES: readonly { path: string; name: string; page: Page; isForAdmins?: true }[] = [
  { path: "", name: "Overview", page: Overview },
  { path: "sandboxes", name: "Sandboxes", page: Sandboxes },
  { path: "images", name: "Images", page: lazy(() => import("./pages/images.js").then((m) => m.Images)) },
  { path: "snapshots", name: "Snapshots", page: lazy(() => import("./pages/snapshots.js").then((m) => m.Snapshots)) },
  { path: "storage", name: "Volumes", page: lazy(() => import("./pages/volumes.js").then((m) => m.Volumes)) },
  { path: "networks", name: "Networks", page: lazy(() => import("./pages/networks.js").then((m) => m.Networks)) },
  { path: "templates", name: "Templates", page: lazy(() => import("./pages/templates.js").then((m) => m.Templates)) },
  { path: "events", name: "Events", page: lazy(() => import("./pages/events.js").then((m) => m.Events)) },
  { path: "traces", name: "Traces", page: lazy(() => import("./pages/traces.js").then((m) => m.Traces)) },
  { path: "engine", name: "Engine", page: lazy(() => import("./pages/engine.js").then((m) => m.Engine)), isForAdmins: true },
  { path: "webhooks", name: "Webhooks", page: lazy(() => import("./pages/webhooks.js").then((m) => m.Webhooks)) },
  { path: "tokens", name: "Tokens", page: lazy(() => import("./pages/tokens.js").then((m) => m.Tokens)), isForAdmins: true },
  { path: "tenants", name: "Tenants", page: lazy(() => import("./pages/tenants.js").then((m) => m.Tenants)), isForAdmins: true },
  { path: "audit", name: "Audit log", page: lazy(() => import("./pages/audit.js").then((m) => m.Audit)), isForAdmins: true },
];
export const Box = lazy(() => import("./box/box.js").then((m) => m.Box));
