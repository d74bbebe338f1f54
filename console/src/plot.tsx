import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";

export interface Line {
  readonly name: string;
  readonly values: readonly number[];
}

const SPAN_S = 60; // shown at least

/** Lines over time; uPlot is loaded when the first is drawn. `times` are seconds. */
export function Plot(props: { title: string; times: readonly number[]; lines: readonly Line[]; unit?: string; max?: number }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const data = (): uPlot.AlignedData => [[...latest.current.times], ...latest.current.lines.map(({ values }) => [...values])];
  useEffect(() => {
    let isGone = false;
    let watcher: ResizeObserver | undefined;
    void import("uplot").then(({ default: Plotter }) => {
      const box = ref.current;
      if (isGone || !box) return;
      const style = getComputedStyle(box);
      const colour = (name: string): string => style.getPropertyValue(name).trim();
      const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
      const { lines, unit = "", max } = latest.current;
      plot.current = new Plotter(
        {
          width: box.clientWidth,
          height: 160,
          cursor: { y: false },
          legend: { show: lines.length > 1 },
          scales: { x: { range: (_, from, to) => [Math.min(from ?? 0, (to ?? 0) - SPAN_S), to ?? 0] }, y: { range: (_, __, top) => [0, Math.max(max ?? 0, top || 1) * 1.05] } },
          axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => `${tick}${unit}`) }],
          series: [{}, ...lines.map(({ name }, i) => ({ label: name, stroke: colour(`--series-${i + 1}`), width: 2, points: { show: false } }))],
        },
        data(),
        box,
      );
      watcher = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height: 160 }));
      watcher.observe(box);
    });
    return () => {
      isGone = true;
      watcher?.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [props.lines.length]);
  useEffect(() => plot.current?.setData(data()));
  const last = props.lines.map(({ name, values }) => `${name} ${values.at(-1) ?? "unknown"}${props.unit ?? ""}`).join(", ");
  return (
    <figure class="plot">
      <figcaption>{props.title}</figcaption>
      <div ref={ref} role="img" aria-label={`${props.title}: ${last}`} />
    </figure>
  );
}
