import type { JSX } from "preact";
import { EventList } from "../pages/events.js";
import type { BoxProps } from "./box.js";

export function Activity({ box }: BoxProps): JSX.Element {
  return <EventList sandboxId={box.id} />;
}
