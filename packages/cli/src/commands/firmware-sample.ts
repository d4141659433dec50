import fs from "node:fs/promises";
import { firmwareSample, SimulatorError } from "@tendon/simulator";
import { OperationError, UsageError } from "../errors.ts";
import { print, printJson } from "../output.ts";

interface SampleOptions {
  readonly board: string;
  readonly version: string;
  readonly json?: boolean;
}

export async function writeSample(file: string, { board, version, json }: SampleOptions): Promise<void> {
  const image = sampleFor(board, version);
  await write(file, image);
  if (json === true) printJson({ file, board, version, size: image.length });
  else print(`${file}: ${board} ${version}, for virtual boards only`);
}

function sampleFor(board: string, version: string): Buffer {
  try {
    return firmwareSample({ board, version });
  } catch (error) {
    throw error instanceof SimulatorError ? new UsageError(error.message) : error;
  }
}

/** Never overwrites another file, because that may be the image of a real board. */
async function write(file: string, image: Buffer): Promise<void> {
  try {
    await fs.writeFile(file, image, { flag: "wx" });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new OperationError(`Cannot write ${file} (${message}).`);
    const existing = await fs.readFile(file).catch(() => undefined);
    if (existing === undefined || !existing.equals(image))
      throw new OperationError(`${file} exists already and differs. Remove it, or choose another name.`);
  }
}
