const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
  let unit = 0;
  while (n >= 1024 && unit < UNITS.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${UNITS[unit]}`;
}

const STEPS: readonly [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** "3 min ago", "in 2 h"; 0: never. */
export function when(ms: number, now = Date.now()): string {
  if (!ms) return "never";
  const gap = Math.abs(now - ms);
  const [size, unit] = STEPS.find(([step]) => gap >= step) ?? [1000, "s"];
  const text = `${Math.floor(gap / size)} ${unit}`;
  return gap < 1000 ? "now" : ms > now ? `in ${text}` : `${text} ago`;
}

export const clock = (ms: number): string => new Date(ms).toLocaleTimeString();

/** Control characters and marks that change the direction of text, made visible. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
