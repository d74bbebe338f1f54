// Which program to start: III_BIN, then `iii` in the PATH, then the one of the source tree around this package.
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Every place that is looked at, in order. A named program is the only one: another in its place would be a surprise. */
export function places(env) {
  if (env.III_BIN) return [env.III_BIN];
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  const built = fileURLToPath(new URL('../../../build/iii', import.meta.url));
  return [...folders.map((folder) => join(folder, 'iii')), built];
}

/** The first that can be executed, or undefined. */
export function find(env) {
  return places(env).find(isProgram);
}
