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

const maxShownProblems = 20;
/** Well below the limit of a request's body. */
const batchBytes = (limits.restBodyBytes.max * 3) / 4;
const progressRows = 10_000;

/** Checks the whole file first, so that a mistake in the last line does not leave half of the file imported. */
export async function importDevices(file: string, options: ImportOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  if (!fs.existsSync(file)) throw new OperationError(`${file} does not exist.`);
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
      throw withFileLines(error, file, batch, done);
    }
    progress.at(done);
  }
  progress.end();
  if (options.json === true) printJson({ imported: done, total });
  else print(`${done} ${done === 1 ? "device" : "devices"} imported, ${total} in total`);
}

/** Returns the number of rows. Throws with the invalid lines, at most `maxShownProblems` of them. */
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
    const more = problems.length - maxShownProblems;
    const list = problems.slice(0, maxShownProblems).join("\n");
    throw new OperationError(
      `Nothing was imported:\n${list}${more > 0 ? `\n… and ${more} more problems` : ""}`,
    );
  }
  if (ids.size === 0) throw new OperationError(`${file} contains no devices.`);
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

/** Translates the gateway's row numbers, which count within one request, into line numbers of the file. */
function withFileLines(error: unknown, file: string, batch: readonly Numbered[], done: number): unknown {
  if (!(error instanceof OperationError)) return error;
  const { errors } = (error.problem ?? {}) as Partial<Problem>;
  const places = (errors ?? []).slice(0, maxShownProblems).map(({ path, message }) => {
    const [, index, field] = /^\/devices\/(\d+)\/?(.*)$/.exec(path) ?? [];
    const line = index === undefined ? undefined : batch[Number(index)]?.line;
    return line === undefined ? undefined : `${file}:${line}: ${field} ${message}`;
  });
  const lines = places.filter((place) => place !== undefined);
  const imported =
    done === 0 ? "" : `\n${done} rows before these are imported. It is safe to import the file again.`;
  return new OperationError(
    `${lines.length > 0 ? `${done === 0 ? "Nothing was imported" : "Not imported"}:\n${lines.join("\n")}` : error.message}${imported}`,
    error.problem,
  );
}

class Progress {
  readonly #rows: number;
  readonly #quiet: boolean;
  #reported = 0;

  constructor(rows: number, quiet: boolean) {
    this.#rows = rows;
    this.#quiet = quiet;
  }

  at(done: number): void {
    if (this.#quiet) return;
    const text = `${done} of ${this.#rows} (${Math.floor((done / this.#rows) * 100)} %)`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
    else if (done - this.#reported >= progressRows) {
      this.#reported = done;
      complain(text);
    }
  }

  end(): void {
    if (!this.#quiet && process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  }
}
