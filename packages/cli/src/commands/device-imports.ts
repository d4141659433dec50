import type { ImportedRow, ImportList } from "@tendon/protocol";
import { UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, complain, plain, print, printJson, printTable } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ImportsOptions extends TargetOptions {
  readonly connected?: boolean;
  readonly missing?: boolean;
  readonly search?: string;
  readonly tag?: string;
  readonly importedAt?: string;
  readonly limit?: number;
  readonly json?: boolean;
}

const pageSize = 1_000;

export async function listImports(options: ImportsOptions): Promise<void> {
  const { search: q, tag, limit = Number.POSITIVE_INFINITY, importedAt } = options;
  if (limit === 0) throw new UsageError("--limit must be 1 or more.");
  if (importedAt !== undefined && Number.isNaN(Date.parse(importedAt)))
    throw new UsageError(
      "--imported-at must be a time as the audit shows it, such as 2027-01-31T12:00:00.123Z.",
    );
  const connected = options.connected ?? (options.missing === true ? false : undefined);
  const query = { q, tag, connected, importedAt };
  const client = new GatewayClient(readTarget(options));
  const found: ImportedRow[] = [];
  let total = 0;
  let cursor: string | undefined;
  // A page may be empty although others follow, so only the cursor tells the end.
  do {
    const size = Math.min(limit - found.length, pageSize);
    const page: ImportList = await client.imports.list({ ...query, limit: size, cursor });
    found.push(...page.imports);
    total = page.total ?? total;
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < limit);
  if (options.json === true) {
    printJson({ imports: found, total });
    return;
  }
  if (found.length === 0) {
    const filtered = Object.values(query).some((value) => value !== undefined);
    print(
      filtered
        ? "No matching imported devices."
        : `No imported devices. Import a list with \`${ownCommand()} device import FILE\`.`,
    );
    return;
  }
  const now = Date.now();
  await printTable(
    ["ID", "SERIAL", "KEY", "TAGS", "IMPORTED", "LAST SEEN"],
    found.map((row) => [
      colours.bold(row.id),
      plain(row.serial ?? ""),
      row.hasKey ? "yes" : "",
      row.tags.join(" "),
      ago(row.importedAt, now),
      ago(row.lastSeenAt, now),
    ]),
  );
  if (found.length < total)
    complain(
      `Showing ${found.length} of ${total} imported devices. Use a higher --limit, or none, to list the others.`,
    );
}

export async function removeImport(
  device: string,
  options: TargetOptions & { readonly json?: boolean },
): Promise<void> {
  await new GatewayClient(readTarget(options)).imports.delete(device);
  if (options.json !== true)
    print(`${device} is removed from the imported list; a device that has credentials keeps them`);
}
