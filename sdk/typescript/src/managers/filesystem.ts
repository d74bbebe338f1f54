import { fromBase64, toBase64 } from "../base64.js";
import { FilesystemMethods } from "../generated/managers.js";
import type { FileMetadata, FsMoveMove, Success } from "../generated/types.js";

/** Files of a running sandbox. Relative paths are below its working folder. */
export class FilesystemManager extends FilesystemMethods {
  writeBytes(path: string, bytes: Uint8Array): Promise<Success> {
    return this.upload(path, toBase64(bytes));
  }

  async readBytes(path: string): Promise<Uint8Array> {
    return fromBase64(await this.download(path));
  }

  /** One path is described by an object, several by a list in the same order. */
  info(path: string): Promise<FileMetadata>;
  info(paths: string[]): Promise<FileMetadata[]>;
  info(path: string | string[]): Promise<FileMetadata | FileMetadata[]> {
    return this.api.fsInfo({ id: this.id, ...several(path) });
  }

  /** Moves one file, or a list one after the other up to the first failure. */
  move(from: string, to: string): Promise<Success>;
  move(moves: FsMoveMove[]): Promise<Success>;
  move(from: string | FsMoveMove[], to: string = ""): Promise<Success> {
    return this.api.fsMove({ id: this.id, moves: typeof from === "string" ? [{ from, to }] : from });
  }

  /** Makes folders with their parents. */
  mkdir(path: string | string[]): Promise<Success> {
    return this.api.fsMkdir({ id: this.id, ...several(path) });
  }

  /** Removes folders with everything in them. */
  rmdir(path: string | string[]): Promise<Success> {
    return this.api.fsRmdir({ id: this.id, ...several(path) });
  }
}

function several(path: string | string[]): { path: string } | { paths: string[] } {
  return typeof path === "string" ? { path } : { paths: path };
}
