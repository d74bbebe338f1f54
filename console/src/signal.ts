// A value that components watch.
import { useEffect, useState } from "preact/hooks";

export interface Signal<T> {
  value: T;
  watch(fn: () => void): () => void;
}

export function signal<T>(first: T): Signal<T> {
  const watchers = new Set<() => void>();
  let value = first;
  return {
    get value() {
      return value;
    },
    set value(next: T) {
      if (Object.is(next, value)) return;
      value = next;
      for (const fn of [...watchers]) fn();
    },
    watch(fn) {
      watchers.add(fn);
      return () => watchers.delete(fn);
    },
  };
}

export function useSignal<T>(s: Signal<T>): T {
  const [, redraw] = useState({});
  useEffect(() => s.watch(() => redraw({})), [s]);
  return s.value;
}
