/** The data of each server-sent event in a body, as text. Comments and other fields are left out. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() + "\n\n" : decoder.decode(value, { stream: true });
      const lines = rest.split(/\r\n|\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("data:")) {
          data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        } else if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        }
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the connection is gone already
  }
}
