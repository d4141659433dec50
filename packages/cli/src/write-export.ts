import { once } from "node:events";
import type { RequestSettings } from "@tendon/client";
import type { GatewayClient } from "./gateway-client.ts";

export type ExportFormat = "csv" | "ndjson";

const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
};

/** Writes a whole list of the gateway to the standard output, as fast as its reader reads. */
export async function writeExport(
  client: GatewayClient,
  path: string,
  query: RequestSettings["query"],
  format: ExportFormat,
): Promise<void> {
  const ended = new AbortController();
  process.stdout.on("error", () => ended.abort());
  const response = await client.open("GET", path, {
    query,
    headers: { accept: mediaTypes[format] },
    signal: ended.signal,
  });
  try {
    for await (const chunk of response.body ?? []) {
      if (!process.stdout.write(chunk)) await once(process.stdout, "drain", { signal: ended.signal });
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  }
}
