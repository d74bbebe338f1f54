import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type SandboxCreateParams } from "../api.js";
import { visible } from "../format.js";
import { go } from "../route.js";
import { Copy, Dialog, Failure, Field, useData } from "../ui.js";

interface Form {
  image: string;
  template: string;
  name: string;
  backend: string;
  memory: string;
  cpu: string;
  diskMb: string;
  timeout: string;
  network: boolean;
}

const number = (text: string): number | undefined => (text === "" ? undefined : Number(text));

function paramsOf(form: Form): SandboxCreateParams {
  const given = {
    image: form.template ? undefined : form.image || undefined,
    template: form.template || undefined,
    name: form.name || undefined,
    backend: form.backend || undefined,
    memory: number(form.memory),
    cpu: number(form.cpu),
    diskMb: number(form.diskMb),
    timeout: number(form.timeout),
    network: form.network || undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as SandboxCreateParams;
}

const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The same create in other words. */
function lines(params: SandboxCreateParams): readonly (readonly [string, string])[] {
  const { image, ...rest } = params as Record<string, unknown>;
  const flags = Object.entries(rest).map(([key, value]) => {
    const flag = key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
    return value === true ? `--${flag}` : `--${flag} ${quoted(String(value))}`;
  });
  const json = JSON.stringify(params);
  const python = Object.entries(rest).map(([key, value]) => {
    const name = key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
    return `${name}=${value === true ? "True" : JSON.stringify(value)}`;
  });
  return [
    ["iii", ["iii create", image ? quoted(String(image)) : "", ...flags].filter(Boolean).join(" ")],
    ["curl", `curl ${location.origin}/sandbox/sandboxes -H 'Content-Type: application/json' -d ${quoted(json)}`],
    ["Python", `Sandbox.create(${[image ? JSON.stringify(image) : "", ...python].filter(Boolean).join(", ")})`],
    ["TypeScript", `await Sandbox.create(${json})`],
  ];
}

export function Create(props: { onClose(): void; onCreated(): void }): JSX.Element {
  const [form, set] = useState<Form>({
    image: "python",
    template: "",
    name: "",
    backend: "",
    memory: "",
    cpu: "",
    diskMb: "",
    timeout: "",
    network: false,
  });
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [shown, setShown] = useState("iii");
  const images = useData((signal) => api.imageList({ signal }), []);
  const templates = useData((signal) => api.templateList({ signal }), []);
  const global = useData((signal) => api.metricsGlobal({ signal }), []);
  const params = paramsOf(form);
  const text = (key: keyof Form) => ({
    value: String(form[key]),
    onInput: (e: { currentTarget: { value: string } }) => set({ ...form, [key]: e.currentTarget.value }),
  });
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const box = await api.sandboxCreate(params);
      props.onCreated();
      go(["sandboxes", box.id]);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title="Create a sandbox" onClose={props.onClose} wide>
      <form onSubmit={submit}>
        <div class="fields">
          <Field label="Image" hint="A preset, an image of the store, or a name to pull">
            <input {...text("image")} list="images" disabled={form.template !== ""} />
          </Field>
          <datalist id="images">
            {(images.data?.images ?? []).map(({ name }) => (
              <option key={name} value={visible(name)} />
            ))}
          </datalist>
          <Field label="Template">
            <select value={form.template} onChange={(e) => set({ ...form, template: e.currentTarget.value })}>
              <option value="">none</option>
              {(templates.data?.templates ?? []).map(({ id, name }) => (
                <option key={id} value={id}>
                  {visible(name)}
                </option>
              ))}
            </select>
          </Field>
          <Field label="Name" hint="How you call it; may be empty">
            <input {...text("name")} maxLength={128} />
          </Field>
          <Field label="Backend">
            <select value={form.backend} onChange={(e) => set({ ...form, backend: e.currentTarget.value })}>
              <option value="">default</option>
              {(global.data?.backends ?? []).map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </Field>
          <Field label="Memory, MB">
            <input {...text("memory")} type="number" min={16} placeholder="512" />
          </Field>
          <Field label="CPUs">
            <input {...text("cpu")} type="number" min={0.1} step={0.1} placeholder="1" />
          </Field>
          <Field label="Disk, MB" hint="A disk of its own; empty shares the host's">
            <input {...text("diskMb")} type="number" min={16} />
          </Field>
          <Field label="Expires after, seconds">
            <input {...text("timeout")} type="number" min={1} placeholder="3600" />
          </Field>
          <label class="check">
            <input type="checkbox" checked={form.network} onChange={(e) => set({ ...form, network: e.currentTarget.checked })} />
            <span>Network: may connect to the outside, within the egress policy</span>
          </label>
        </div>
        <div class="also" role="group" aria-label="The same elsewhere">
          {lines(params).map(([name]) => (
            <button type="button" key={name} class="quiet" aria-pressed={shown === name} onClick={() => setShown(name)}>
              {name}
            </button>
          ))}
          {lines(params)
            .filter(([name]) => name === shown)
            .map(([name, line]) => (
              <pre key={name}>
                {line} <Copy text={line} label={`the line for ${name}`} />
              </pre>
            ))}
        </div>
        <Failure error={error} />
        <footer>
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button class="primary" disabled={isBusy}>
            {isBusy ? "Creating…" : "Create"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
