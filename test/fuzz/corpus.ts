/**
 * Inputs that were found or written down once, and are replayed by every test run. A file is `TARGET/NAME.txt` as it is,
 * or `TARGET/NAME.b64` in base64 for bytes that are no text.
 */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

const folder = path.resolve("test/fuzz/corpus");

export interface Entry {
  readonly name: string;
  readonly input: Buffer;
}

export function corpusOf(target: string): Entry[] {
  const at = path.join(folder, target);
  if (!fs.existsSync(at)) return [];
  return fs
    .readdirSync(at)
    .sort()
    .map((name) => {
      const content = fs.readFileSync(path.join(at, name));
      return { name, input: name.endsWith(".b64") ? Buffer.from(content.toString(), "base64") : content };
    });
}

/** Every folder of the corpus, so that none belongs to a target that is gone. */
export function corpusFolders(): string[] {
  return fs.readdirSync(folder).sort();
}

/** Returns the new file. */
export function addToCorpus(target: string, input: Buffer): string {
  const name = createHash("sha256").update(input).digest("hex").slice(0, 12);
  const text = isUtf8(input);
  const file = path.join(folder, target, `${name}.${text ? "txt" : "b64"}`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text ? input : `${input.toString("base64")}\n`);
  return file;
}
