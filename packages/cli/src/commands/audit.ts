import { UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";
import { type ExportFormat, writeExport } from "../write-export.ts";

interface AuditOptions extends TargetOptions {
  readonly principal?: string;
  readonly action?: string;
  readonly since?: string;
  readonly limit: number;
  readonly export?: ExportFormat;
  readonly json?: boolean;
}

export async function audit(options: AuditOptions): Promise<void> {
  const { principal, action, since } = options;
  if (since !== undefined && Number.isNaN(Date.parse(since)))
    throw new UsageError("--since must be a date or time, such as 2027-01-31 or 2027-01-31T12:00:00Z.");
  const client = new GatewayClient(readTarget(options));
  const query = {
    principal,
    action,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    limit: options.limit,
  };
  if (options.export !== undefined) {
    await writeExport(client, "/audit", query, options.export);
    return;
  }
  const list = await client.audit.list(query);
  if (options.json === true) printJson(list);
  else if (list.entries.length === 0) print("No matching entries.");
  else
    await printTable(
      ["WHEN", "BY", "ACTION", "TARGET", "FROM", "DETAIL"],
      list.entries.map(({ at, principal: by, action: what, target, from, detail }) => [
        colours.dim(at.replace("T", " ").slice(0, 19)),
        plain(by),
        what,
        plain(target.name),
        plain(from),
        detail === undefined ? "" : plain(shortened(JSON.stringify(detail))),
      ]),
    );
}

const longestDetail = 80;

function shortened(text: string): string {
  return text.length <= longestDetail ? text : `${text.slice(0, longestDetail - 1)}…`;
}
