import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type Image } from "../api.js";
import { bytes, visible, when } from "../format.js";
import { href, route, setQuery } from "../route.js";
import { useSignal } from "../signal.js";
import { Empty, Failure, Table, attempt, confirm, useData, type Column } from "../ui.js";
import { Build, Details } from "./build.js";

/** Names that share an id share its layers. */
function diskUse(images: readonly Image[]): string {
  const sizes = new Map(images.filter(({ source }) => source !== "host").map(({ id, size }) => [id, size]));
  return `${sizes.size} images take ${bytes([...sizes.values()].reduce((sum, size) => sum + size, 0))} of the server's disk; layers that several share are counted for each.`;
}

export function Images(): JSX.Element {
  const list = useData((signal) => api.imageList({ signal }), [], 10_000);
  const { name: shown, build } = useSignal(route).query;
  const [name, setName] = useState("");
  const [progress, setProgress] = useState<{ done: number; total: number; text: string } | undefined>();
  const pull = async (event: Event): Promise<void> => {
    event.preventDefault();
    setProgress({ done: 0, total: 1, text: "asking the registry" });
    const did = await attempt(`${name} is here`, async () => {
      for await (const { type, done = 0, total = 0, layersDone = 0, layers = 0 } of api.imagePullStream({ image: name })) {
        if (type === "progress") setProgress({ done, total: total || 1, text: `${bytes(done)} of ${bytes(total)}, ${layersDone} of ${layers} layers` });
      }
    });
    setProgress(undefined);
    if (did) setName("");
    list.reload();
  };
  const remove = async (image: Image): Promise<void> => {
    if (!(await confirm(`Delete ${visible(image.name)}?`, "Sandboxes that use it keep their files.", "Delete"))) return;
    await attempt(`${image.name} is deleted`, () => api.imageDeleteQuery({ name: image.name }));
    list.reload();
  };
  const columns: readonly Column<Image>[] = [
    { name: "Name", sort: (i) => i.name, show: (i) => (i.source === "docker" ? visible(i.name) : <a href={href(["images"], { name: i.name })}>{visible(i.name)}</a>) },
    { name: "Source", sort: (i) => i.source, show: (i) => (i.source === "host" ? "this host" : i.source), narrow: true },
    { name: "Size", sort: (i) => i.size, show: (i) => (i.source === "host" ? "" : bytes(i.size)), narrow: true },
    { name: "Layers", sort: (i) => i.layers, show: (i) => i.layers, narrow: true, minor: true },
    { name: "Created", sort: (i) => i.createdAt, show: (i) => when(i.createdAt), narrow: true, minor: true },
    { name: "Id", show: (i) => <code>{i.id.slice(0, 19)}</code>, minor: true },
    {
      name: "",
      narrow: true,
      show: (i) =>
        i.source !== "host" && (
          <button class="quiet" aria-label={`Delete ${visible(i.name)}`} onClick={() => remove(i)}>
            ×
          </button>
        ),
    },
  ];
  return (
    <>
      <header class="page">
        <h1>Images</h1>
        <form class="row" onSubmit={pull}>
          <input aria-label="Image to pull" placeholder="python:3.12-slim" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
          <button class="primary" disabled={progress !== undefined}>
            Pull
          </button>
          <a class="button" href={href(["images"], { build: "new" })}>
            Build
          </a>
        </form>
      </header>
      {progress && (
        <p role="status">
          <progress value={progress.done} max={progress.total} aria-label="Pull" /> {progress.text}
        </p>
      )}
      {build && !shown && <Build onClose={() => setQuery({ build: undefined })} onBuilt={list.reload} />}
      {shown && <Details name={shown} onClose={() => setQuery({ name: undefined, build: undefined })} />}
      {list.data && <p>{diskUse(list.data.images)}</p>}
      <Failure error={list.error} retry={list.reload} />
      {list.data && (
        <Table
          label="Images"
          rows={list.data.images}
          columns={columns}
          keyOf={(i) => i.name}
          empty={
            <Empty title="No images">
              <p>
                Pull or build one above, or import an archive on the server's host: <code>iii image import rootfs.tar NAME</code>
              </p>
            </Empty>
          }
        />
      )}
    </>
  );
}
