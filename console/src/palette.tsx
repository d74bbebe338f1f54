import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "./api.js";
import { visible } from "./format.js";
import { PAGES } from "./pages.js";
import { href } from "./route.js";
import { signal, useSignal } from "./signal.js";
import { Dialog, useData } from "./ui.js";

const isOpen = signal(false);
export const openPalette = (): void => void (isOpen.value = true);

/** Pages, actions and sandboxes by a few letters of their names. */
function List(): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const boxes = useData((signal) => api.sandboxList({ pageSize: 200 }, { signal }), []);
  const close = (): void => void (isOpen.value = false);
  const all = [
    ...PAGES.map(({ path, name }) => ({ name, to: href(path ? [path] : []) })),
    { name: "Create a sandbox", to: href(["sandboxes"], { create: "1" }) },
    ...(boxes.data?.items ?? []).map(({ id, name }) => ({ name: name ? `${name} · ${id}` : id, to: href(["sandboxes", id]) })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))).slice(0, 30);
  const chosen = Math.min(at, found.length - 1);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else if (event.key === "Enter" && found[chosen]) {
      location.hash = found[chosen].to;
      close();
    } else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find" onClose={close}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found[chosen] ? `found-${chosen}` : undefined}
        aria-label="Page, action or sandbox"
        placeholder="Page, action or sandbox"
        value={text}
        onInput={(e) => (setText(e.currentTarget.value), setAt(0))}
        onKeyDown={onKey}
        autoFocus
      />
      <ul id="found" role="listbox" aria-label="Found">
        {found.map(({ name, to }, i) => (
          <li key={to} id={`found-${i}`} role="option" aria-selected={i === chosen}>
            <a href={to} tabIndex={-1} onClick={close}>
              {visible(name)}
            </a>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

export function Palette(): JSX.Element | null {
  return useSignal(isOpen) ? <List /> : null;
}
