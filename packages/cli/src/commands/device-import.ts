import fs from "node:fs";
import { type ImportReply, type ImportRow, limits, type Problem } from "@tendon/protocol";
import { OperationError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { type ImportLine, readImport } from "../import-file.ts";
import { complain, print, printJson } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ImportOptions extends TargetOptions {
  readonly json?: boolean;
}

interface Numbered {
  readonly line: number;
  readonly row: ImportRow;
}

const shownProblems = 20;
/** Well below what a request may have. */
const batchBytes = (limits.restBodyBytes.max * 3) / 4;
const progressRows = 10_000;

/** First the whole file is looked at, so that a mistake in the last line does not leave half of it imported. */
export async function importDevices(file: string, options: ImportOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  if (!fs.existsSync(file)) throw new OperationError(`${file} is not there.`);
  const rows = await checkFile(file);
  const progress = new Progress(rows, options.json === true);
  let done = 0;
  let total = 0;
  for await (const batch of batches(readImport(file))) {
    try {
      const reply = await client.post<ImportReply>("/devices/import", {
        devices: batch.map(({ row }) => row),
      });
      done += reply.imported;
      total = reply.total;
    } catch (error) {
      progress.end();
      throw inWords(error, file, batch, done);
    }
    progress.at(done);
  }
  progress.end();
  if (options.json === true) printJson({ imported: done, total });
  else
    print(
      `${done} ${done === 1 ? "device" : "devices"} imported; ${total} ${total === 1 ? "is" : "are"} on the list`,
    );
}

/** How many rows there are; throws with every line that is wrong, or the first of them. */
async function checkFile(file: string): Promise<number> {
  const problems: string[] = [];
  const ids = new Map<string, number>();
  const serials = new Map<string, number>();
  const note = (line: number, problem: string) => problems.push(`${file}:${line}: ${problem}`);
  const unique = (known: Map<string, number>, value: string | undefined, line: number, what: string) => {
    if (value === undefined) return;
    const before = known.get(value);
    if (before === undefined) known.set(value, line);
    else note(line, `the same ${what} as line ${before}`);
  };
  for await (const read of readImport(file)) {
    if ("problem" in read) note(read.line, read.problem);
    else {
      unique(ids, read.row.id, read.line, "id");
      unique(serials, read.row.serial, read.line, "serial number");
    }
  }
  if (problems.length > 0) {
    const more = problems.length - shownProblems;
    const list = problems.slice(0, shownProblems).join("\n");
    throw new OperationError(
      `nothing was imported:\n${list}${more > 0 ? `\n… and ${more} more lines like these` : ""}`,
    );
  }
  if (ids.size === 0) throw new OperationError(`${file} has no devices in it.`);
  return ids.size;
}

async function* batches(lines: AsyncIterable<ImportLine>): AsyncGenerator<Numbered[]> {
  let batch: Numbered[] = [];
  let bytes = 0;
  for await (const line of lines) {
    if ("problem" in line) continue;
    const size = Buffer.byteLength(JSON.stringify(line.row)) + 1;
    if (batch.length === limits.importBatch.max || bytes + size > batchBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(line);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** The gateway counts rows of one request; people count lines of their file. */
function inWords(error: unknown, file: string, batch: readonly Numbered[], done: number): unknown {
  if (!(error instanceof OperationError)) return error;
  const { errors } = (error.problem ?? {}) as Partial<Problem>;
  const places = (errors ?? []).slice(0, shownProblems).map(({ path, message }) => {
    const [, index, field] = /^\/devices\/(\d+)\/?(.*)$/.exec(path) ?? [];
    const line = index === undefined ? undefined : batch[Number(index)]?.line;
    return line === undefined ? undefined : `${file}:${line}: ${field} ${message}`;
  });
  const told = places.filter((place) => place !== undefined);
  const sofar = done === 0 ? "" : `\n${done} rows before that are imported; doing it again does no harm.`;
  return new OperationError(
    `${told.length > 0 ? `${done === 0 ? "nothing was imported" : "not imported"}:\n${told.join("\n")}` : error.message}${sofar}`,
    error.problem,
  );
}

class Progress {
  readonly #rows: number;
  readonly #quiet: boolean;
  #told = 0;

  constructor(rows: number, quiet: boolean) {
    this.#rows = rows;
    this.#quiet = quiet;
  }

  at(done: number): void {
    if (this.#quiet) return;
    const text = `${done} of ${this.#rows} (${Math.floor((done / this.#rows) * 100)} %)`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
    else if (done - this.#told >= progressRows) {
      this.#told = done;
      complain(text);
    }
  }

  end(): void {
    if (!this.#quiet && process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  }
}
