/** A file that goes into an archive; a Blob is read from the disk when it is sent. */
export interface Entry {
  readonly name: string;
  readonly data: Blob;
}

const BLOCK = 512;

function head(name: Uint8Array, size: number, type: string): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (at: number, text: string): void => void new TextEncoder().encodeInto(text, block.subarray(at));
  const octal = (n: number, digits: number): string => n.toString(8).padStart(digits, "0");
  block.set(name.subarray(0, 100));
  put(100, "0000644\0" + "0000000\0" + "0000000\0");
  put(124, size < 8 ** 11 ? octal(size, 11) : octal(0, 11)); // a larger one is in the records
  put(136, octal(Math.floor(Date.now() / 1000), 11));
  put(148, " ".repeat(8));
  put(156, type);
  put(257, "ustar\x0000");
  put(148, `${octal(block.reduce((sum, byte) => sum + byte, 0), 6)}\0 `);
  return block;
}

/** A record of a pax header, which states its own length. */
function record(key: string, value: string): string {
  const bytes = new TextEncoder().encode(` ${key}=${value}\n`).length;
  let length = bytes;
  while (length !== bytes + String(length).length) length = bytes + String(length).length;
  return `${length} ${key}=${value}\n`;
}

const padding = (size: number): Uint8Array<ArrayBuffer> => new Uint8Array(-size & (BLOCK - 1));

/** The entries as a tar archive. */
export function packed(entries: readonly Entry[]): Blob {
  const parts: BlobPart[] = [];
  for (const { name, data } of entries) {
    const path = new TextEncoder().encode(name);
    if (path.length > 100 || data.size >= 8 ** 11) {
      const records = new TextEncoder().encode(record("path", name) + record("size", String(data.size)));
      parts.push(head(new TextEncoder().encode("records"), records.length, "x"), records, padding(records.length));
    }
    parts.push(head(path, data.size, "0"), data, padding(data.size));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return new Blob(parts);
}
