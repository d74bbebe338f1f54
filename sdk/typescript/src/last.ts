import { ConnectionError } from "./errors.js";

/** Events up to the one that says how it ended. A stream that breaks off before that one is an error, not an end. */
export async function* upTo<T extends { type: string }>(
  events: AsyncGenerator<T, void, undefined>,
  last: T["type"],
): AsyncGenerator<T, void, undefined> {
  for await (const event of events) {
    yield event;
    if (event.type === last) return;
  }
  throw new ConnectionError(`the stream broke off before its "${last}" event`);
}
