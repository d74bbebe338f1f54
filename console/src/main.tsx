import { render, type JSX } from "preact";
import { useEffect } from "preact/hooks";
import "@xterm/xterm/css/xterm.css";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { link, logOut, me, whoAmI } from "./api.js";
import { visible } from "./format.js";
import { Login } from "./login.js";
import { Palette, openPalette } from "./palette.js";
import { Box, PAGES } from "./pages.js";
import { href, route } from "./route.js";
import { useSignal } from "./signal.js";
import { Confirmation, Empty, Messages } from "./ui.js";

function Content(): JSX.Element {
  const { parts } = useSignal(route);
  if (parts[0] === "sandboxes" && parts[1]) return <Box key={parts[1]} />;
  const found = PAGES.find(({ path }) => path === (parts[0] ?? ""));
  if (found) return <found.page key={found.path} />;
  return (
    <Empty title="There is no such page">
      <a href="#/">Go to the overview</a>
    </Empty>
  );
}

function Shell(): JSX.Element {
  const { parts } = useSignal(route);
  const state = useSignal(link);
  const who = useSignal(me);
  useEffect(() => {
    const ask = (): void => void whoAmI().catch(() => undefined); // the login is shown, or the lost connection
    if (state === "ok" && !me.value) ask();
    const timer = state === "lost" ? window.setInterval(ask, 2000) : 0;
    return () => clearInterval(timer);
  }, [state]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <aside>
        <a class="brand" href="#/">
          <img src={document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href} alt="" /> iii
        </a>
        <nav aria-label="Main">
          {PAGES.filter(({ isForAdmins }) => !isForAdmins || who?.role === "admin").map(({ path, name }) => (
            <a key={path} href={href(path ? [path] : [])} aria-current={(parts[0] ?? "") === path ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div class="below">
          <button class="quiet" onClick={openPalette}>
            Find… <kbd>Ctrl K</kbd>
          </button>
          <a href="/docs" target="_blank" rel="noopener">
            Documents
          </a>
          {who && !who.open && (
            <span>
              <small>
                {visible(who.name)}, {who.role}
              </small>{" "}
              <button class="quiet" onClick={() => logOut()}>
                log out
              </button>
            </span>
          )}
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        {state === "lost" && (
          <div class="lost" role="alert">
            The server does not answer. Trying again; nothing on this page is lost.
          </div>
        )}
        <Content />
      </main>
      {state === "login" && <Login />}
      <Palette />
      <Confirmation />
      <Messages />
    </>
  );
}

render(<Shell />, document.getElementById("app")!);
